// SPDX-License-Identifier: BSD-3-Clause
// What the shard keeps of an allocation's usage, beside the low parts of its counts in the line.
#pragma once

#include <stdint.h>

#include "turn_line.h"
#include "turn_usage.h"

// The usage record of a slot. Relayed datagrams touch it now and then (turn_line_spill). There are
// as many as relay ports, so it is small: a leg's counts are exact up to 2^48 bytes and 2^38
// datagrams.
struct usage {
	// By leg, what has spilled from the line, in TURN_SPILL_BYTES and TURN_SPILL_DATAGRAMS.
	uint32_t bytes[2], datagrams[2];
	uint16_t lost[TURN_LOSS_KEPT]; // each stops at UINT16_MAX
	uint16_t told_s; // low half of the clock's seconds when it was last told (tell.h)
	uint32_t made_s; // the clock's seconds when it was made
};
_Static_assert(sizeof(struct usage) == 32, "what counting costs an allocation");

// Begins the record of an allocation that was made age_s ago.
void usage_begin(struct turn_shard *s, uint32_t slot, uint32_t age_s);
// Writes to *out what the allocation of a slot has relayed and lost: of one that is live, or has
// ended and not been followed by another.
void usage_of(const struct turn_shard *s, uint32_t slot, struct turn_usage *out);
// Counts a datagram that lib/turn itself drops for this reason, if it is the loss of an allocation:
// that of the slot, which may be none.
void usage_refused(struct turn_shard *s, uint32_t slot, unsigned int drop);
