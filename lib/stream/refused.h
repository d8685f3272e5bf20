// SPDX-License-Identifier: BSD-3-Clause
// Reports refusals of a stream thread, aggregated by source and reason (fold.h). A fixed table
// holds them: a keyed hash of source and reason chooses eight entries. If others use all eight, the
// refusal is only counted. Private to lib/stream.
#pragma once

#include "tables/fold.h"
#include "stream.h"

#define REFUSED_PLACES 256
#define REFUSED_WAYS 8

struct thread;

// The last refusal of an entry.
struct refused_last {
	struct endpoint client;
	uint8_t listener, reason;
	char offered[STREAM_OFFERED_LEN];
};

struct refused {
	struct fold fold;
	struct fold_entry entry[REFUSED_PLACES];
	struct refused_last last[REFUSED_PLACES];
	uint64_t ticked_ms; // time of the last refused_tick
};

// Sets up t->refused, which is zero.
void refused_init(struct thread *t);
// Reports a refused client, or counts it if its source was reported in this period. Ignores
// r->more.
void refused_note(struct thread *t, const struct stream_refused *r);
// Like refused_note, with the reason that belongs to a counter in t->stats. Does nothing for other
// counters.
void refused_by_counter(
	struct thread *t, const struct endpoint *client, uint8_t listener, const uint64_t *counter);
// Reports the refusals counted in periods that have ended. Call it at least once a second.
void refused_tick(struct thread *t);
