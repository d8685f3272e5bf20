// SPDX-License-Identifier: BSD-3-Clause
// Records of sessions and refusals, to files, journald and syslog. They are written by a thread of
// their own, behind a bounded queue: a disk that is full, slow or gone costs records, which are
// counted, and keeps nobody waiting. Private to lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf.h"
#include "records/records_line.h"
#include "records/records_sinks.h"

struct records;

struct records_counters {
	uint64_t written; // lines in the files
	uint64_t lost; // that should be in a file: it could not be written, or the queue was full
	uint64_t unsent; // that journald or syslog did not take
	uint32_t waiting; // in the queue
};

// Opens the files and starts the thread, if c asks for any record; c->turn outlives them. *out is
// NULL where it asks for none. hooks may be NULL. 0, or -1 with the reason in error.
int records_open(const struct conf *c, const struct records_hooks *hooks, struct records **out,
	char *error, size_t len);
// Leaves a record for the thread; never waits for a disk. Refusals find room while less than half
// of the queue is used. r may be NULL.
void records_put(struct records *r, const struct record *record);
// The same, but waits for room up to a time of CLOCK_MONOTONIC, in milliseconds: when the appliance
// stops there may be a record for each allocation at once. False when there was no room even then.
bool records_put_until(struct records *r, const struct record *record, uint64_t until_ms);
// Has the files closed and opened again, once the records that wait now are written: those that
// come later go to the new ones. Any thread; r may be NULL.
void records_reopen(struct records *r);
// Writes the records that come from now on to other sinks, which it takes. Any thread.
void records_change(struct records *r, struct records_sinks *sinks);
// Writes the path of a file to buf, and returns buf; NULL where there is none, or no r. Any
// thread.
const char *records_path(struct records *r, enum records_sinks_file which, char *buf, size_t len);
// Any thread; all zero for NULL.
struct records_counters records_counters(struct records *r);
// Writes what waits, ends the thread and frees r. It waits as long as records are written: for
// patience_ms without one, and ten times that in all. A thread that a disk does not let go is left
// behind, and the records that it leaves are told. NULL is fine.
void records_close(struct records *r, uint64_t patience_ms);
