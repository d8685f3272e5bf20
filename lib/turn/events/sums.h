// SPDX-License-Identifier: BSD-3-Clause
// What all allocations of a shard have relayed (struct turn_sums), added where a line spills and
// where an allocation ends. So a relayed datagram costs nothing for it.
#pragma once

#include <stdint.h>

struct turn_shard;

// What was added to the sums and has been taken back by its allocation since (turn_usage_lost).
// Counters never fall: so much of what is spilled next is not added.
struct sums_ahead {
	uint64_t datagrams[2], bytes[2]; // by leg
};

// The sums that an allocation counts in, and what they are ahead: those of its realm.
struct turn_sums *sums_of(struct turn_shard *s, uint32_t slot);
struct sums_ahead *sums_ahead_of(struct turn_shard *s, uint32_t slot);
// Adds what the line of an allocation has spilled.
void sums_bytes(struct turn_shard *s, uint32_t slot, unsigned int leg, uint64_t n);
void sums_datagrams(struct turn_shard *s, uint32_t slot, unsigned int leg, uint32_t n);
// Adds an allocation that was made, by a request or a restart.
void sums_made(struct turn_shard *s, uint32_t slot);
// Adds an allocation that is about to end and has lived so long: what its line has not spilled, and
// its place in the histograms.
void sums_ended(struct turn_shard *s, uint32_t slot, uint32_t lifetime_s);
