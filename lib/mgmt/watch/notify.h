// SPDX-License-Identifier: BSD-3-Clause
// Notifies systemd of the state of the service: sd_notify(3), whose protocol is a datagram of
// lines. Without $NOTIFY_SOCKET it does nothing. Private to lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Reads $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID. 0, or -errno: systemd gets no
// notifications.
int notify_open(void);
void notify_close(void);
bool notify_is_open(void);
// Microseconds within which WATCHDOG=1 must be repeated; 0 = systemd does not expect it.
uint64_t notify_watchdog_us(void);
// Sends lines, such as "READY=1\nSTATUS=relaying". It waits for at most half a second if the
// receiver is busy. Any thread.
__attribute__((format(printf, 1, 2))) void notify_send(const char *fmt, ...);
