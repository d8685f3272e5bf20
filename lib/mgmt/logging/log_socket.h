// SPDX-License-Identifier: BSD-3-Clause
// Datagrams to journald or syslog. Private to lib/mgmt.
#pragma once

#include <stddef.h>

// A socket to send from; -errno on failure.
int log_socket_open(void);
// Sends a datagram to the socket at path. It never waits. 0; -EAGAIN when somebody is there and
// takes nothing now; else -errno: nobody is there.
int log_socket_send(int fd, const char *path, const char *data, size_t len);
