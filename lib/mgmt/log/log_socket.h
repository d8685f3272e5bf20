// SPDX-License-Identifier: BSD-3-Clause
// Datagrams to journald or syslog. Private to lib/mgmt.
#pragma once

#include <stddef.h>

// Opens a socket to send from; -errno on failure.
int log_socket_open(void);
// Sends a datagram to the socket at path. Never waits. 0, -EAGAIN if the daemon takes no datagram
// now, or another -errno if there is no daemon.
int log_socket_send(int fd, const char *path, const char *data, size_t len);
