// SPDX-License-Identifier: BSD-3-Clause
// Functions of a state area inside lib/turn; turn_state.h has the public ones.
#pragma once

#include "state/record.h"

// Makes a shard write to its part of an area. The rest of the shard's memory is set up.
void state_open(struct turn_shard *s, struct turn_state *area);
// The value of header.check: a hash over the fields of header and tables that do not change. The
// tables must lie within the area.
uint64_t state_header_check(const struct state_header *h);
// The object at an offset of an area that turn_state_check has accepted, or that is being made.
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
