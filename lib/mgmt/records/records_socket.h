// SPDX-License-Identifier: BSD-3-Clause
// Sends records to journald, in its native protocol with one field per field of the record, and to
// syslog. Each record is a datagram; if the daemon does not accept it, it is lost. One thread at a
// time. Private to lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json_t;

#define RECORDS_SOCKET_JOURNAL "/run/systemd/journal/socket"
#define RECORDS_SOCKET_SYSLOG "/dev/log"

// One daemon.
struct records_sink {
	const char *path; // of its socket; NULL = not configured
	int fd; // to send from; -1 = not open
	bool stuck; // the daemon did not accept the last record in time
};

// Opens a sink with a path. patience_ms limits how long a send may wait. 0 or -errno.
int records_socket_open(struct records_sink *s, unsigned int patience_ms);
void records_socket_close(struct records_sink *s);
// Sends a record: `object`, and `text`, which is the same record as one line without newline.
// waits: may wait for room, because a daemon's queue may hold only ten. After a wait in vain no
// call waits until a record is accepted. False if it was not accepted.
bool records_socket_journal(
	struct records_sink *s, bool waits, const struct json_t *object, const char *text);
bool records_socket_syslog(struct records_sink *s, bool waits, const char *text);
