// SPDX-License-Identifier: BSD-3-Clause
// The arrivals of one flow in one direction: which numbers arrived, which twice, which out of order
// (RFC 4737 section 3.3: a number below the next expected one is reordered). It is exact as long as
// a packet is at most TRACK_WINDOW numbers late. One owner. PURE.
#pragma once

#include <stdint.h>

#define TRACK_WINDOW 512

struct track {
	uint32_t next; // highest number seen + 1
	uint32_t unique; // different numbers seen
	uint8_t epoch; // low byte of the number of the trial that it counts for
	// bit n % WINDOW: number n, for n in [next - WINDOW, next)
	uint64_t seen[TRACK_WINDOW / 64];
};

// Verdict of track_add on a number.
enum track_result {
	TRACK_IN_ORDER,
	TRACK_REORDERED, // arrived for the first time, after a later number
	TRACK_DUPLICATE,
	TRACK_LATE, // too late to know if it is a duplicate: counted as reordered and as unique
};

// Counts an arrival.
enum track_result track_add(struct track *t, uint32_t seq);
