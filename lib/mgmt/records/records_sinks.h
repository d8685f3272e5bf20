// SPDX-License-Identifier: BSD-3-Clause
// All that records are written to: files, journald, syslog, or none of these. What was refused has
// a file of its own: anybody can fill that one, and rotates no session away. One thread at a time,
// except for counters. Private to lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "conf.h"
#include "records/records_file.h"
#include "records/records_socket.h"

// What a test puts in the place of the system, and a reload of the configuration; all NULL and 0:
// nothing.
struct records_hooks {
	ssize_t (*write)(int fd, const void *data, size_t len); // of the file; may wait
	const char *journal, *syslog; // paths of their sockets
	unsigned int patience_ms; // with them
	uint32_t queue; // records
	bool later; // a file that cannot be opened now is opened later
	const struct turn_config *turn; // in the place of the configuration's
};

// Files, each with its rotation.
enum records_sinks_file { RECORDS_SESSIONS, RECORDS_REFUSALS, RECORDS_FILES };

struct records_sinks {
	struct records_sink journal, syslog;
	char *path[RECORDS_FILES]; // NULL = none
	struct records_file file[RECORDS_FILES];
};

// Opens what k asks for; k may go afterwards. NULL with the reason in error (len bytes).
struct records_sinks *records_sinks_open(
	const struct conf_records *k, const struct records_hooks *hooks, char *error, size_t len);
// Writes what there is, and closes and frees all. NULL is fine.
void records_sinks_close(struct records_sinks *s);
// Goes on where before was: its counters count on, and files are opened anew, as they may have been
// rotated since.
void records_sinks_follow(struct records_sinks *s, struct records_sinks *before);
// Takes the line of an event of this kind (enum turn_event_kind), n bytes with its newline. A
// refusal that no file takes is left out.
void records_sinks_put(struct records_sinks *s, unsigned int kind, const char *line, size_t n);
// What records_file_flush, _reopen and _tick do, for each file.
void records_sinks_flush(struct records_sinks *s);
void records_sinks_reopen(struct records_sinks *s);
void records_sinks_tick(struct records_sinks *s, uint64_t now_ms);
// Adds up lines that were written, and that the files could not take. Any thread.
void records_sinks_count(const struct records_sinks *s, uint64_t *written, uint64_t *lost);
