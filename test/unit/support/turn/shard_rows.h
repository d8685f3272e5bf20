// SPDX-License-Identifier: BSD-3-Clause
// The allocations of a shard as shown to an operator.
#pragma once

#include "turn_listing.h"

// Writes up to max live allocations to out, in the order of slots. Returns their number.
static inline unsigned int shard_rows(
	const struct turn_shard *s, struct turn_info *out, unsigned int max)
{
	const struct turn_filter all = {0};
	struct turn_walk w = {0};
	unsigned int n = 0;

	while (n < max && !w.end)
		n += turn_listing_rows(s, &all, &w, out + n, max - n);
	return n;
}
