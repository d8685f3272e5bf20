// SPDX-License-Identifier: BSD-3-Clause
// A token bucket: a rate and a burst. It is kept as the time until which what was taken is paid for
// (the virtual scheduling algorithm of ITU-T I.371). So it is one word, and time that passes costs
// nothing. Tokens may be owed: what cannot be known beforehand is taken first and paid for later.
// PURE; one thread at a time.
//
// Zeroed memory is a bucket that is full. All times are nanoseconds of one monotonic clock. A limit
// that changes holds at once for whoever owes nothing. What was taken before is paid for as long as
// it was due by the limit of then.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define BUCKET_MS UINT64_C(1000000) // nanoseconds in a millisecond, for clocks in ms

// How much a bucket gives.
struct limit {
	uint32_t rate, burst; // tokens a second, and at once at least 1; rate 0 = no limit
};

struct bucket {
	uint64_t due_ns;
};

// One of so many equal parts of a limit, at least 1 of what it has.
struct limit limit_part(const struct limit *l, uint32_t parts);
// So many times a limit.
struct limit limit_times(const struct limit *l, uint32_t times);

// True if nothing is owed: there is a token by any limit.
static inline bool bucket_owes_nothing(const struct bucket *b, uint64_t now_ns)
{
	return b->due_ns <= now_ns;
}

// The tokens in a bucket, 0 when some are owed.
uint32_t bucket_see(const struct bucket *b, const struct limit *l, uint64_t now_ns);
// Takes one token. False, and nothing is taken, when there is none. At times in whole milliseconds
// and up to a million tokens a second nothing is lost to rounding, else a thousandth of a token is
// given away at most.
bool bucket_take(struct bucket *b, const struct limit *l, uint64_t now_ns);
// Takes n tokens, even if there are fewer: the rest is owed.
void bucket_spend(struct bucket *b, const struct limit *l, uint32_t n, uint64_t now_ns);
// Gives back n tokens that were taken by the same limit.
void bucket_give(struct bucket *b, const struct limit *l, uint32_t n);
