// SPDX-License-Identifier: BSD-3-Clause
// Sums over all allocations of a shard (struct turn_sums), updated when a line spills and when an
// allocation ends. So a relayed datagram costs nothing.
#pragma once

#include <stdint.h>

#include "turn_usage.h"

struct turn_shard;

// Amounts that were added to the sums and later corrected (turn_usage_lost). Counters never
// decrease: these amounts are subtracted from the next additions.
struct sums_ahead {
	uint64_t datagrams[2], bytes[2]; // by leg
};

// Counts of some of a worker's allocations, which only that worker writes.
struct tally {
	struct turn_tally shown;
	struct sums_ahead ahead; // amounts by which shown.sums is ahead
} __attribute__((aligned(64)));

// The sums in which an allocation counts, and the amounts by which they are ahead: those of its
// realm.
struct turn_sums *sums_of(struct turn_shard *s, uint32_t slot);
struct sums_ahead *sums_ahead_of(struct turn_shard *s, uint32_t slot);
// Adds counts that the line of an allocation has spilled.
void sums_bytes(struct turn_shard *s, uint32_t slot, unsigned int leg, uint64_t n);
void sums_datagrams(struct turn_shard *s, uint32_t slot, unsigned int leg, uint32_t n);
// Adds an allocation that was made, by a request or a restart.
void sums_made(struct turn_shard *s, uint32_t slot);
// Adds an allocation that is about to end, with its lifetime: the counts that its line has not
// spilled, and its entries in the histograms.
void sums_ended(struct turn_shard *s, uint32_t slot, uint32_t lifetime_s);
