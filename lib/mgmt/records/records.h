// SPDX-License-Identifier: BSD-3-Clause
// Writes records of sessions and refusals to files, journald and syslog. A thread does it, after a
// bounded queue: a disk that is full, slow or missing costs records, which are counted, and delays
// nothing else. Private to lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf.h"
#include "records/records_line.h"
#include "records/records_sinks.h"

struct records;

struct records_counters {
	uint64_t written; // lines written to the files
	uint64_t lost; // records that should be in a file: it could not be written, or the queue
		// was full
	uint64_t unsent; // records that journald or syslog did not accept
	uint32_t waiting; // records in the queue
};

// Opens the files and starts the thread, if c configures any records; c->turn must outlive them.
// *out is NULL without records. hooks may be NULL. 0, or -1 with the reason in error.
int records_open(const struct conf *c, const struct records_hooks *hooks, struct records **out,
	char *error, size_t len);
// Queues a record; never waits for a disk. Refusals are queued only while less than half of the
// queue is used, peers only below three quarters. r may be NULL.
void records_put(struct records *r, const struct record *record);
// Like records_put(), but waits for room until a time of CLOCK_MONOTONIC, in milliseconds: a
// stopping server may have a record for each allocation at once. False if there was no room.
bool records_put_until(struct records *r, const struct record *record, uint64_t until_ms);
// Closes the files and opens them again, once the records that wait now are written: later ones go
// to the new files. Any thread; r may be NULL.
void records_reopen(struct records *r);
// Writes later records to other sinks, and takes ownership of these. Any thread.
void records_change(struct records *r, struct records_sinks *sinks);
// Writes the path of a file to buf, and returns buf; NULL without such a file or without r. Any
// thread.
const char *records_path(struct records *r, enum records_sinks_file which, char *buf, size_t len);
// Any thread; all zero for NULL.
struct records_counters records_counters(struct records *r);
// Writes the waiting records, ends the thread and frees r. It waits while records are written: up
// to patience_ms without progress, and ten times that in all. A thread that hangs in a write is
// abandoned, and the number of lost records is logged. NULL is fine.
void records_close(struct records *r, uint64_t patience_ms);
