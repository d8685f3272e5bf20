// SPDX-License-Identifier: BSD-3-Clause
// The newest events, for clients of the control socket that watch them. Events do not wait for a
// reader: one that is too slow finds out how many it has missed. The caller has a lock. Private to
// lib/mgmt.
#pragma once

#include <stdint.h>

#include "records/records_line.h"

#define RECENT 1024

// Zero-initialised.
struct recent {
	uint64_t nb; // events since the start
	struct record ring[RECENT]; // event i is at index i % RECENT
};

// Takes an event, in place of the oldest.
void recent_put(struct recent *t, const struct record *r);
// Copies events to out, at most max, from the number *next on, which becomes the number after the
// last. Adds to *lost the events from *next on that are gone. Returns how many it has copied. A
// number that does not exist yet becomes the next one.
unsigned int recent_take(const struct recent *t, uint64_t *next, uint64_t *lost, struct record *out,
	unsigned int max);
