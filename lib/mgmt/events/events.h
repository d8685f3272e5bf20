// SPDX-License-Identifier: BSD-3-Clause
// Gives the events of the data path to records, the log and the store of attempts. Management
// lcore, unless a comment says otherwise.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "explain/attempts.h"
#include "conf.h"

struct dp;
struct mgmt_events;
struct record;
struct records;

// Opens the sinks that c configures, before the data path exists; c must outlive them. Returns NULL
// with the reason in error.
struct mgmt_events *mgmt_events_open(const struct conf *c, char *error, size_t len);
// Takes the events of d from now on, including the last ones when it stops. Call dp_stop before
// mgmt_events_close.
void mgmt_events_attach(struct mgmt_events *m, struct dp *d);
// Takes a limited number of waiting events. Call it ten times a second or more. True if the next
// call should come soon, because there were many.
bool mgmt_events_tick(struct mgmt_events *m);
// Writes the waiting records, for a few seconds at most, and frees m. NULL is fine.
void mgmt_events_close(struct mgmt_events *m);

// The store of records; NULL without records. Any thread except workers.
struct records *mgmt_events_records(struct mgmt_events *m);
// Opens the record sinks that c configures; c may be freed afterwards. Returns NULL with the reason
// in error. Any thread, but one at a time.
struct mgmt_events_change *mgmt_events_prepare(
	struct mgmt_events *m, const struct conf *c, char *error, size_t len);
// Replaces the current record sinks for all records from now on. Takes ownership of change.
// Management lcore.
void mgmt_events_change(struct mgmt_events *m, struct mgmt_events_change *change);
void mgmt_events_change_free(struct mgmt_events_change *change); // NULL is fine
// The newest refusal of a connection or handshake for a reason of stream_refusals.h. False if no
// refusal came after since_ms (wall clock). Any thread except workers.
bool mgmt_events_refused(
	struct mgmt_events *m, unsigned int refusal, uint64_t since_ms, struct addr *client);
// Look up the store of attempts: see attempts_of_user and attempts_of_source. Any thread except
// workers. The management lcore waits meanwhile: a look-up reads at most 1,040 entries.
unsigned int mgmt_events_of_user(struct mgmt_events *m, const struct attempts_who *identity,
	struct attempt *out, unsigned int max);
unsigned int mgmt_events_of_source(
	struct mgmt_events *m, const struct addr *source, struct attempt *out, unsigned int max);
// Copies the newest events: see recent_take(). Any thread except workers. The management lcore
// waits meanwhile.
unsigned int mgmt_events_recent(struct mgmt_events *m, uint64_t *next, uint64_t *lost,
	struct record *out, unsigned int max);
