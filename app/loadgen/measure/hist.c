// SPDX-License-Identifier: BSD-3-Clause
// The histogram: quantiles, copies, sums and differences.
#include "measure/hist.h"

void hist_reset(struct hist *h)
{
	*h = (struct hist){.min = UINT64_MAX};
}

// Returns the middle of the values that share a bucket.
static uint64_t bucket_middle(uint32_t bucket)
{
	const uint32_t shift = bucket < 2 * HIST_SUB ? 0 : (bucket >> HIST_SUB_BITS) - 1;
	const uint64_t low = (uint64_t)(bucket - (shift << HIST_SUB_BITS)) << shift;

	return low + ((1ull << shift) - 1) / 2;
}

void hist_copy(struct hist *dst, const struct hist *live)
{
	dst->n = 0;
	for (uint32_t i = 0; i < HIST_BUCKETS; i++) {
		dst->count[i] = __atomic_load_n(&live->count[i], __ATOMIC_ACQUIRE);
		dst->n += dst->count[i];
	}
	dst->min = __atomic_load_n(&live->min, __ATOMIC_RELAXED);
	dst->max = __atomic_load_n(&live->max, __ATOMIC_RELAXED);
	if (dst->n == 0) { // min and max may already hold a value that is just being added
		dst->min = UINT64_MAX;
		dst->max = 0;
	}
}

// Returns how many values must be <= the quantile. q * n carries a rounding error, which must not
// raise a whole number to the next (0.07 * 100 is computed as more than 7).
static uint64_t quantile_rank(uint64_t n, double q)
{
	const double exact = q * (double)n * (1 - 0x1p-51);
	uint64_t rank = (uint64_t)exact;

	if ((double)rank < exact || rank == 0)
		rank++;
	return rank < n ? rank : n;
}

uint64_t hist_quantile(const struct hist *h, double q)
{
	uint64_t rank, v;
	uint32_t i;

	if (h->n == 0)
		return 0;
	if (!(q > 0))
		return h->min;
	if (q >= 1)
		return h->max;
	rank = quantile_rank(h->n, q);
	for (i = 0; i < HIST_BUCKETS - 1 && rank > h->count[i]; i++)
		rank -= h->count[i];
	v = bucket_middle(i);
	if (v < h->min)
		return h->min;
	return v < h->max ? v : h->max;
}

void hist_merge(struct hist *h, const struct hist *src)
{
	h->n += src->n;
	h->min = src->min < h->min ? src->min : h->min;
	h->max = src->max > h->max ? src->max : h->max;
	for (uint32_t i = 0; i < HIST_BUCKETS; i++)
		h->count[i] += src->count[i];
}

void hist_subtract(struct hist *h, const struct hist *older)
{
	uint32_t lowest = HIST_BUCKETS, highest = 0;

	h->n = 0;
	for (uint32_t i = 0; i < HIST_BUCKETS; i++) {
		h->count[i] -= older->count[i];
		h->n += h->count[i];
		if (h->count[i] != 0) {
			lowest = lowest == HIST_BUCKETS ? i : lowest;
			highest = i;
		}
	}
	if (h->n == 0) {
		h->min = UINT64_MAX;
		h->max = 0;
		return;
	}
	if (h->min >= older->min && hist_bucket(h->min) != lowest)
		h->min = bucket_middle(lowest);
	if (h->max <= older->max && hist_bucket(h->max) != highest)
		h->max = bucket_middle(highest);
}
