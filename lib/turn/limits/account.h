// SPDX-License-Identifier: BSD-3-Clause
// account.c: one bucket of bytes or datagrams, kept as lib/base/bucket.h keeps its own: as the time
// until which what was taken is paid for. So a bucket is one word, a rate that changes holds at
// once, and time that passes costs nothing. PURE
//
// Several threads take from one bucket. Each takes a piece of what there is, and comes again when
// that is used up. Nobody waits for another.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

// What is counted: by kind a rate in kilobits or in datagrams a second.
enum account_kind { ACCOUNT_BYTES, ACCOUNT_DATAGRAMS, ACCOUNT_KINDS };

// A bucket, and how it gives. Times are in nanoseconds.
struct account {
	_Atomic uint64_t *due; // NULL = there is no limit, and no function may be called
	enum account_kind kind;
	uint32_t rate; // above 0
	uint64_t now;
	uint64_t burst; // so far what is due may lie ahead of now
	uint64_t piece; // what is given at once, beyond what is needed
	// It is for one datagram, which has to be relayed some time: a bucket that owes nothing
	// gives it even if it is more than the burst.
	bool single;
};

// Takes need tokens, above 0, and as many more as make up a piece, but no more than most. Returns
// how many were taken: 0, or at least need.
uint64_t account_take(const struct account *a, uint64_t need, uint64_t most);
// Takes tokens whether or not there are so many: who comes later waits for it.
void account_owe(const struct account *a, uint64_t tokens);
// Gives back tokens that were taken at that rate.
void account_give(const struct account *a, uint64_t tokens);
