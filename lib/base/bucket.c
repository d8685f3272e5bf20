// SPDX-License-Identifier: BSD-3-Clause
// Token buckets: turns time into tokens and loses less than a nanosecond each time.
#include "bucket.h"

#define SECOND_NS UINT64_C(1000000000)
#define LONG_NS (100 * SECOND_NS) // filling any burst that we use takes less

uint32_t bucket_see(struct bucket *b, uint32_t rate, uint32_t burst, uint64_t now_ns)
{
	const uint64_t passed = now_ns - b->filled_ns;
	uint64_t gained;

	if (rate == 0)
		return 0;
	if (passed >= LONG_NS) {
		b->tokens = burst;
		b->filled_ns = now_ns;
		return burst;
	}
	gained = passed * rate / SECOND_NS;
	if (gained > 0) {
		b->tokens += (int64_t)gained;
		if (b->tokens > burst)
			b->tokens = burst;
		// time worth less than a token stays for the next call
		b->filled_ns += (gained * SECOND_NS + rate - 1) / rate;
	}
	return b->tokens > 0 ? (uint32_t)b->tokens : 0;
}

bool bucket_take(struct bucket *b, uint32_t rate, uint32_t burst, uint64_t now_ns)
{
	if (bucket_see(b, rate, burst, now_ns) == 0)
		return false;
	b->tokens--;
	return true;
}
