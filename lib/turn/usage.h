// SPDX-License-Identifier: BSD-3-Clause
// The shard's usage record of an allocation. Its line holds the low parts of the counts.
#pragma once

#include <stdint.h>

#include "turn_line.h"
#include "turn_usage.h"

// The usage record of a slot. Relayed datagrams touch it now and then (turn_line_spill). There are
// as many records as relay ports, so they are small: a leg's counts are exact up to 2^48 bytes and
// 2^38 datagrams.
struct usage {
	// By leg: counts spilled from the line, in TURN_SPILL_BYTES and TURN_SPILL_DATAGRAMS.
	uint32_t bytes[2], datagrams[2];
	uint16_t lost[TURN_LOSS_KEPT]; // each stops at UINT16_MAX
	uint16_t told_s; // low half of the clock's seconds at its last event (tell.h)
	uint32_t made_s; // the clock's seconds when it was made
};
_Static_assert(sizeof(struct usage) == 32, "memory for the counts of an allocation");

// Begins the record of an allocation that was made age_s ago.
void usage_begin(struct turn_shard *s, uint32_t slot, uint32_t age_s);
// Writes to *out the counts of the slot's allocation: a live one, or the last one that has ended.
void usage_of(const struct turn_shard *s, uint32_t slot, struct turn_usage *out);
// Counts a datagram that lib/turn itself drops for this reason, if it is a loss of the slot's
// allocation. The slot may have no allocation.
void usage_refused(struct turn_shard *s, uint32_t slot, unsigned int drop);
