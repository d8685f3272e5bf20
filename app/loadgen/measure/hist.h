// SPDX-License-Identifier: BSD-3-Clause
// Log-linear histogram of 64-bit values: the relative error of a quantile is below 0.4 %, whatever
// the unit. One writer; another lcore takes a copy (hist_copy) while it counts. PURE.
#pragma once

#include <stdint.h>

#define HIST_SUB_BITS 7 // 128 steps an octave: 1/128 wide, so 0.4 % either way of the middle
#define HIST_SUB (1u << HIST_SUB_BITS)
#define HIST_BITS 44 // values from 2^44 on (two hours of TSC ticks) share the last bucket
#define HIST_BUCKETS ((HIST_BITS - HIST_SUB_BITS + 1) * HIST_SUB)

// Written by its owner alone: an empty one is made by hist_reset, not by zeroing.
struct hist {
	uint64_t n, min, max; // exact; min is UINT64_MAX and max 0 while n is 0
	uint64_t count[HIST_BUCKETS];
};

// Not while anybody else reads it.
void hist_reset(struct hist *h);

// Bucket of a value: exact below 2^8, logarithmic above.
static inline uint32_t hist_bucket(uint64_t v)
{
	uint32_t shift;

	if (v < HIST_SUB)
		return (uint32_t)v;
	if (v >> HIST_BITS != 0)
		return HIST_BUCKETS - 1;
	shift = 63 - (uint32_t)__builtin_clzll(v) - HIST_SUB_BITS;
	return (shift << HIST_SUB_BITS) + (uint32_t)(v >> shift);
}

// Per packet. The bucket is counted after min and max know the value, so that who sees it counted
// sees them cover it.
static inline void hist_add(struct hist *h, uint64_t v)
{
	uint64_t *count = &h->count[hist_bucket(v)];

	if (v < h->min)
		__atomic_store_n(&h->min, v, __ATOMIC_RELAXED);
	if (v > h->max)
		__atomic_store_n(&h->max, v, __ATOMIC_RELAXED);
	__atomic_store_n(&h->n, h->n + 1, __ATOMIC_RELAXED);
	__atomic_store_n(count, *count + 1, __ATOMIC_RELEASE);
}

// A copy, from any lcore, of a histogram whose owner goes on counting. Consistent in itself: n is
// the sum of the buckets copied, min and max cover them (and perhaps a value just being added).
void hist_copy(struct hist *to, const struct hist *live);
// Smallest value v such that at least q (0..1) of the values are <= v, to within the error: the
// middle of its bucket, held between min and max (so 0 and 1 are exact). 0 when empty.
uint64_t hist_quantile(const struct hist *h, double q);
// Adds all of from to h.
void hist_merge(struct hist *h, const struct hist *from);
// h minus an older copy of itself: what was counted since. min and max stay exact where they were
// set since; else they are right to within the lowest and highest bucket left.
void hist_subtract(struct hist *h, const struct hist *older);
