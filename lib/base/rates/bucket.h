// SPDX-License-Identifier: BSD-3-Clause
// A token bucket: a rate and a burst. It is stored as the time at which all taken tokens will be
// paid for (the virtual scheduling algorithm of ITU-T I.371). So it is one word, and needs no
// refill. Tokens may be owed: a cost that is not known in advance is taken first and paid for
// later. PURE; one thread at a time.
//
// Zeroed memory is a full bucket. All times are nanoseconds of one monotonic clock. A changed limit
// applies at once to buckets that owe nothing. Tokens taken before are paid for at the rate of the
// old limit.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define BUCKET_MS UINT64_C(1000000) // nanoseconds in a millisecond, for clocks in ms

// The limit of a bucket.
struct limit {
	uint32_t rate, burst; // tokens a second, and at once (at least 1); rate 0 = no limit
};

struct bucket {
	uint64_t due_ns;
};

// Returns one of `parts` equal parts of a limit: at least 1 where the limit is not 0.
struct limit limit_part(const struct limit *l, uint32_t parts);
// Returns a limit multiplied by `times`.
struct limit limit_times(const struct limit *l, uint32_t times);

// True if no token is owed: then a token is available under any limit.
static inline bool bucket_owes_nothing(const struct bucket *b, uint64_t now_ns)
{
	return b->due_ns <= now_ns;
}

// Returns the tokens in a bucket, 0 if some are owed.
uint32_t bucket_see(const struct bucket *b, const struct limit *l, uint64_t now_ns);
// Takes one token. False, with nothing taken, if there is no token. At times in whole milliseconds
// and up to a million tokens a second there is no rounding error, else at most a thousandth of a
// token is given away.
bool bucket_take(struct bucket *b, const struct limit *l, uint64_t now_ns);
// Takes n tokens, even if there are fewer: the others are owed.
void bucket_spend(struct bucket *b, const struct limit *l, uint32_t n, uint64_t now_ns);
// Returns n tokens that were taken with the same limit.
void bucket_give(struct bucket *b, const struct limit *l, uint32_t n);
