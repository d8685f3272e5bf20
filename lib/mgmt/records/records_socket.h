// SPDX-License-Identifier: BSD-3-Clause
// Records to journald, in its native protocol with a field for each of the record's, and to syslog.
// A datagram each: what is not taken is lost. Any one thread. Private to lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct json_t;

#define RECORDS_SOCKET_JOURNAL "/run/systemd/journal/socket"
#define RECORDS_SOCKET_SYSLOG "/dev/log"

// One daemon.
struct records_sink {
	const char *path; // of its socket; NULL = not asked for
	int fd; // to send from; -1 = not open
	bool stuck; // it did not take the last record in time
};

// Opens a sink with a path. A send that may wait does so for patience_ms at most. 0 or -errno.
int records_socket_open(struct records_sink *s, unsigned int patience_ms);
void records_socket_close(struct records_sink *s);
// Sends a record: object, which text has as one line without newline. A queue of theirs may have
// room for ten, so waits says that this may wait for room. Once that was in vain, nothing waits
// until something is taken. False when it was not taken.
bool records_socket_journal(
	struct records_sink *s, bool waits, const struct json_t *object, const char *text);
bool records_socket_syslog(struct records_sink *s, bool waits, const char *text);
