// SPDX-License-Identifier: BSD-3-Clause
// Log-linear histogram of 64-bit values. The relative error of a quantile is below 0.4 %, in any
// unit. One writer; another lcore may copy it (hist_copy) while the writer counts. PURE.
#pragma once

#include <stdint.h>

#define HIST_SUB_BITS 7 // 128 steps an octave, each 1/128 wide: at most 0.4 % from its middle
#define HIST_SUB (1u << HIST_SUB_BITS)
#define HIST_BITS 44 // all values from 2^44 on (two hours of TSC ticks) share the last bucket
#define HIST_BUCKETS ((HIST_BITS - HIST_SUB_BITS + 1) * HIST_SUB)

// Only its owner writes it. hist_reset makes an empty one; zeroing does not.
struct hist {
	uint64_t n, min, max; // exact; min is UINT64_MAX and max 0 while n is 0
	uint64_t count[HIST_BUCKETS];
};

// Empties it. No other thread may read it meanwhile.
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

// Counts a value; called per packet. min and max are updated before the bucket is counted, so a
// reader that sees the value counted also sees min and max cover it.
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

// Copies, on any lcore, a histogram whose owner continues to count. The copy is consistent: n is
// the sum of the copied buckets, and min and max cover them (and perhaps a value just being added).
void hist_copy(struct hist *dst, const struct hist *live);
// Returns the smallest value v such that at least a share q (0..1) of the values is <= v, within
// the error: the middle of v's bucket, limited to min..max (so q = 0 and q = 1 are exact). 0 when
// empty.
uint64_t hist_quantile(const struct hist *h, double q);
// Adds all values of `src` to h.
void hist_merge(struct hist *h, const struct hist *src);
// Subtracts an older copy of h itself: the values counted since then are left. min and max are
// exact if they were set since then; otherwise they lie in the lowest and highest bucket left.
void hist_subtract(struct hist *h, const struct hist *older);
