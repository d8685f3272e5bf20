// SPDX-License-Identifier: BSD-3-Clause
// What only lib/turn asks a state area; turn_state.h has the rest.
#pragma once

#include "state/record.h"

// Makes a shard write to its part of an area. The rest of the shard's memory is set up.
void state_open(struct turn_shard *s, struct turn_state *area);
// What stands in header.check: over the header and the tables, which lie within the area, all that
// stands from the start on.
uint64_t state_header_check(const struct state_header *h);
// Something at a place in an area that turn_state_check has found good, or that is being made.
static inline const void *state_at(const struct state_header *h, uint64_t offset)
{
	return (const uint8_t *)h + offset;
}

static inline const struct state_part *state_part(const struct state_header *h, unsigned int worker)
{
	return (const struct state_part *)state_at(h, h->parts_at) + worker;
}

static inline const struct state_listener *state_listener(
	const struct state_header *h, unsigned int index)
{
	return (const struct state_listener *)state_at(h, h->listeners_at) + index;
}

static inline const struct addr *state_relay(const struct state_header *h, unsigned int index)
{
	return (const struct addr *)state_at(h, h->relay_at) + index;
}
