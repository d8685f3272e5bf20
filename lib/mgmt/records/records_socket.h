// SPDX-License-Identifier: BSD-3-Clause
// Records to journald, in its native protocol with a field for each of the record's, and to syslog.
// A datagram each, which never waits: what is not taken at once is lost. Any one thread. Private to
// lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json_t;

#define RECORDS_SOCKET_JOURNAL "/run/systemd/journal/socket"
#define RECORDS_SOCKET_SYSLOG "/dev/log"

// A socket to send from; -1 with errno set.
int records_socket_open(void);
// Sends a record: object, which text has as one line without newline. False when it was not taken.
bool records_socket_journal(
	int fd, const char *path, const struct json_t *object, const char *text);
bool records_socket_syslog(int fd, const char *path, const char *text);
