// SPDX-License-Identifier: BSD-3-Clause
// News of what a stream thread has refused, one event for each source and reason in ten seconds.
// There is a fixed number of places for them. A keyed hash says which eight of them a source and
// reason may have. Where others have all eight, the refusal is only counted. Private to lib/stream.
#pragma once

#include "stream.h"

#define REFUSED_PLACES 256
#define REFUSED_WAYS 8
#define REFUSED_PERIOD_MS 10000

struct thread;

struct refused_place {
	struct endpoint client; // the last one; places are by source, without the port
	uint64_t until_ms; // its period; 0 = the place is free
	uint32_t more; // left out in this period
	uint8_t listener, reason;
	char offered[STREAM_OFFERED_LEN]; // of the last one
};

// Tells of a client refused, or counts it beside one that is told already. more is not looked at.
void refused_note(struct thread *t, const struct stream_refused *r);
// The same for one whose counter, in t->stats, says why; for other counters it does nothing.
void refused_by_counter(
	struct thread *t, const struct endpoint *client, uint8_t listener, const uint64_t *counter);
// Tells what was left out in periods that have ended. Once a second is enough.
void refused_tick(struct thread *t);
