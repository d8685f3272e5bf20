// SPDX-License-Identifier: BSD-3-Clause
// What arrived of one flow in one direction: which numbers, which twice, which out of order
// (RFC 4737 section 3.3: a number below the next expected one is reordered). Exact as long as a
// packet is at most TRACK_WINDOW numbers late. One owner. PURE.
#pragma once

#include <stdint.h>

#define TRACK_WINDOW 512

struct track {
	uint32_t next; // highest number seen + 1
	uint32_t unique; // different numbers seen
	uint8_t epoch; // of the trial it counts for
	uint64_t
		seen[TRACK_WINDOW / 64]; // bit n % WINDOW: number n, for n in [next - WINDOW, next)
};

enum track_result {
	TRACK_IN_ORDER,
	TRACK_REORDERED, // first time, but a later number came before
	TRACK_DUPLICATE,
	TRACK_LATE, // too late to know whether it is a duplicate: counted as reordered, and unique
};

// Forgets all and counts for another trial.
void track_reset(struct track *t, uint8_t epoch);
enum track_result track_add(struct track *t, uint32_t seq);
