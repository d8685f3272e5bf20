// SPDX-License-Identifier: BSD-3-Clause
// What systemd is told of the service: sd_notify(3), whose protocol is a datagram of lines. Without
// $NOTIFY_SOCKET nothing is told. Private to lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Reads $NOTIFY_SOCKET, $WATCHDOG_USEC and $WATCHDOG_PID. 0; -errno, and nobody is told anything.
int notify_open(void);
void notify_close(void);
bool notify_is_open(void);
// Microseconds within which WATCHDOG=1 has to come again and again; 0 = nobody waits for it.
uint64_t notify_watchdog_us(void);
// Sends lines, as in "READY=1\nSTATUS=relaying". It waits for half a second at most, if the
// receiver is busy. Any thread.
__attribute__((format(printf, 1, 2))) void notify_send(const char *fmt, ...);
