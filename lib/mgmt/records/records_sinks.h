// SPDX-License-Identifier: BSD-3-Clause
// The sinks of records: files, journald, syslog, or none. Refusals have a separate file, as anybody
// can fill it, and so have peers, as any user can: they must not rotate the sessions away. One
// thread at a time, except for counters. Private to lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "conf.h"
#include "records/records_file.h"
#include "records/records_socket.h"

// Replacements: of the system by a test, and of the configuration by a reload. NULL and 0 replace
// nothing.
struct records_hooks {
	ssize_t (*write)(int fd, const void *data, size_t len); // write of the file; may block
	const char *journal, *syslog; // paths of their sockets
	unsigned int patience_ms; // for journald and syslog
	uint32_t queue; // capacity of the queue, in records
	bool later; // a file that cannot be opened now is opened later
	const struct turn_config *turn; // instead of the configuration's
};

// Files, each with its own rotation.
enum records_sinks_file { RECORDS_SESSIONS, RECORDS_REFUSALS, RECORDS_PEERS, RECORDS_FILES };

// The file of an event of this kind (enum turn_event_kind).
enum records_sinks_file records_sinks_file_of(unsigned int kind);

struct records_sinks {
	struct records_sink journal, syslog;
	char *path[RECORDS_FILES]; // NULL = no such file
	struct records_file file[RECORDS_FILES];
};

// Opens the sinks that k configures; k may be freed afterwards. NULL with the reason in error (len
// bytes).
struct records_sinks *records_sinks_open(
	const struct conf_records *k, const struct records_hooks *hooks, char *error, size_t len);
// Writes buffered lines, closes and frees all. NULL is fine.
void records_sinks_close(struct records_sinks *s);
// Continues after `before`: takes over its counters, and opens the files again, as they may have
// been rotated since.
void records_sinks_follow(struct records_sinks *s, struct records_sinks *before);
// Takes the line of an event of this kind (enum turn_event_kind), n bytes with its newline. It is
// dropped if no file takes this kind.
void records_sinks_put(struct records_sinks *s, unsigned int kind, const char *line, size_t n);
// Call records_file_flush, _reopen and _tick for each file.
void records_sinks_flush(struct records_sinks *s);
void records_sinks_reopen(struct records_sinks *s);
void records_sinks_tick(struct records_sinks *s, uint64_t now_ms);
// Adds the numbers of lines written, and of lines lost by the files. Any thread.
void records_sinks_count(const struct records_sinks *s, uint64_t *written, uint64_t *lost);
