// SPDX-License-Identifier: BSD-3-Clause
// Where the events of the data path go: records, the log, and the store of attempts. Management
// lcore, unless a comment says otherwise.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "attempts.h"
#include "conf.h"

struct dp;
struct mgmt_events;
struct records;

// Opens what c asks for, before there is a data path; c outlives it. NULL with the reason in error.
struct mgmt_events *mgmt_events_open(const struct conf *c, char *error, size_t len);
// Takes the events of d from now on: of those that are left when it stops, too. dp_stop comes
// before mgmt_events_close.
void mgmt_events_attach(struct mgmt_events *m, struct dp *d);
// Takes events that wait, a bounded number. Ten times a second or more. True when there were so
// many that the next call should come soon.
bool mgmt_events_tick(struct mgmt_events *m);
// Writes what waits, for a few seconds at most, and frees m. NULL is fine.
void mgmt_events_close(struct mgmt_events *m);

// Where the records go; NULL where there are none. Any thread but workers.
struct records *mgmt_events_records(struct mgmt_events *m);
// Opens the sinks of records that c asks for; c may go afterwards. NULL with the reason in error.
// Any thread, but one at a time.
struct mgmt_events_change *mgmt_events_prepare(
	struct mgmt_events *m, const struct conf *c, char *error, size_t len);
// Has them take the place of those there are, for records from now on; takes change. Management
// lcore.
void mgmt_events_change(struct mgmt_events *m, struct mgmt_events_change *change);
void mgmt_events_change_free(struct mgmt_events_change *change); // NULL is fine
// The newest refusal of a connection or handshake for a reason of stream_refusals.h. False: there
// was none since a time of the wall clock. Any thread but workers.
bool mgmt_events_refused(
	struct mgmt_events *m, unsigned int refusal, uint64_t since_ms, struct addr *client);
// What the store of attempts knows, as attempts_of_user and attempts_of_source have it. Any thread
// but workers. The management lcore waits meanwhile: a look-up reads no more than 1,040 entries.
unsigned int mgmt_events_of_user(struct mgmt_events *m, const struct attempts_who *identity,
	struct attempt *out, unsigned int max);
unsigned int mgmt_events_of_source(
	struct mgmt_events *m, const struct addr *source, struct attempt *out, unsigned int max);
