// SPDX-License-Identifier: BSD-3-Clause
// A token bucket: a rate and a burst. Tokens may be owed: what cannot be known beforehand is taken
// first and paid for later. PURE; one thread at a time.
//
// Zeroed memory is a bucket that was empty at time 0. All times are nanoseconds of one monotonic
// clock. rate is in tokens a second, at most 100 million; with rate 0 there is never a token.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define BUCKET_MS UINT64_C(1000000) // nanoseconds in a millisecond, for clocks in ms

struct bucket {
	int64_t tokens; // in the bucket; below 0: owed
	uint64_t filled_ns; // time up to here has been turned into tokens
};

// Refills a bucket up to burst and returns the tokens in it, 0 when some are owed. Time worth less
// than a token is kept for the next call. After 100 seconds without a refill a bucket is full,
// whatever was owed.
uint32_t bucket_see(struct bucket *b, uint32_t rate, uint32_t burst, uint64_t now_ns);

// Refills a bucket and takes one token. False, and nothing is taken, when there is none.
bool bucket_take(struct bucket *b, uint32_t rate, uint32_t burst, uint64_t now_ns);

// Takes n tokens, even if there are fewer: the rest is owed.
static inline void bucket_spend(struct bucket *b, uint32_t n)
{
	b->tokens -= n;
}
