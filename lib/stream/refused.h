// SPDX-License-Identifier: BSD-3-Clause
// News of what a stream thread has refused, folded by source and reason (fold.h). There is a fixed
// number of places for them. A keyed hash says which eight of them a source and reason may have.
// Where others have all eight, the refusal is only counted. Private to lib/stream.
#pragma once

#include "fold.h"
#include "stream.h"

#define REFUSED_PLACES 256
#define REFUSED_WAYS 8

struct thread;

// The last one of an entry.
struct refused_last {
	struct endpoint client;
	uint8_t listener, reason;
	char offered[STREAM_OFFERED_LEN];
};

struct refused {
	struct fold fold;
	struct fold_entry entry[REFUSED_PLACES];
	struct refused_last last[REFUSED_PLACES];
	uint64_t ticked_ms; // when what was left out was told last
};

// Sets up t->refused, which is zero.
void refused_init(struct thread *t);
// Tells of a client refused, or counts it beside one that is told already. more is not looked at.
void refused_note(struct thread *t, const struct stream_refused *r);
// The same for one whose counter, in t->stats, says why; for other counters it does nothing.
void refused_by_counter(
	struct thread *t, const struct endpoint *client, uint8_t listener, const uint64_t *counter);
// Tells what was left out, once its time is over; once a second.
void refused_tick(struct thread *t);
