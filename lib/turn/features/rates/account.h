// SPDX-License-Identifier: BSD-3-Clause
// One bucket of bytes or datagrams, stored like those of lib/base/rates/bucket.h: as the time until
// which all taken tokens are paid for. So a bucket is one word, a new rate applies at once, and
// nothing refills buckets as time passes. PURE
//
// Several threads take from one bucket. Each takes a piece of its contents, and the next piece when
// that is used up. No thread waits for another.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

// The unit of a bucket. Its rate is in kilobits or datagrams per second.
enum account_kind { ACCOUNT_BYTES, ACCOUNT_DATAGRAMS, ACCOUNT_KINDS };

// A bucket, and its parameters. Times are in nanoseconds.
struct account {
	_Atomic uint64_t *due; // NULL = no limit; no function may be called then
	enum account_kind kind;
	uint32_t rate; // above 0
	uint64_t now;
	uint64_t burst; // maximum time by which `due` may be ahead of `now`
	uint64_t piece; // amount taken at once, beyond the needed amount
	// True if the request is for one datagram: a bucket without debt grants it even if it is
	// larger than the burst, because it could never pass otherwise.
	bool single;
};

// Takes at least `need` tokens (above 0), more to complete a piece, and at most `most`. Returns the
// number taken: 0, or at least `need`.
uint64_t account_take(const struct account *a, uint64_t need, uint64_t most);
// Takes tokens even if there are too few: later requests wait for them.
void account_owe(const struct account *a, uint64_t tokens);
// Gives back tokens that were taken at the same rate.
void account_give(const struct account *a, uint64_t tokens);
