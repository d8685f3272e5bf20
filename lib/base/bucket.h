// SPDX-License-Identifier: BSD-3-Clause
// A token bucket: so many a second, so many at once. Tokens may be owed: what cannot be told
// beforehand is taken and paid for later. PURE; of one thread at a time.
//
// Zeroed memory is a bucket that was empty at time 0. Times are of one monotonic clock, in
// nanoseconds. rate is in tokens a second, at most 100 million; with 0 there is never one.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define BUCKET_MS UINT64_C(1000000) // a millisecond, for clocks that count these

struct bucket {
	int64_t tokens; // there are; below 0: are owed
	uint64_t filled_ns; // what has passed up to here has been turned into tokens
};

// Refills a bucket up to burst and returns the tokens there are; 0 when some are owed. A part of a
// token counts on. After 100 seconds a bucket is full, whatever was owed.
uint32_t bucket_see(struct bucket *b, uint32_t rate, uint32_t burst, uint64_t now_ns);

// Refills a bucket and takes a token. False when there is none.
bool bucket_take(struct bucket *b, uint32_t rate, uint32_t burst, uint64_t now_ns);

// Takes n tokens, there or not.
static inline void bucket_spend(struct bucket *b, uint32_t n)
{
	b->tokens -= n;
}
