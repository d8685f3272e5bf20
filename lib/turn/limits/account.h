// SPDX-License-Identifier: BSD-3-Clause
// account.c: one bucket of bytes or datagrams, kept as the time until which what was taken is paid
// for. So a bucket is one word, a rate that changes holds at once, and time that passes costs
// nothing. PURE
//
// Several workers take from one bucket. Each takes a piece of what there is, and comes again when
// that is used up. Nobody waits for another.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

// A millisecond in the unit of due times, a little less than a nanosecond each.
#define ACCOUNT_MS 20

// What is counted: by kind a rate in kilobits or in datagrams a second.
enum account_kind { ACCOUNT_BYTES, ACCOUNT_DATAGRAMS, ACCOUNT_KINDS };

// How an account gives.
struct account_terms {
	uint64_t now; // units
	uint64_t burst; // units: so far what is due may lie ahead of now
	uint64_t piece; // units: what is given at once, beyond what is needed
	// It is for one datagram, which has to be relayed some time: a bucket that owes nothing
	// gives it even if it is more than the burst.
	bool single;
};

// Takes need tokens and as many more as make up a piece, but no more than most, of a kind whose
// rate is above 0. need_most has both; need is above 0. Returns how many were taken: 0, or at least
// need.
uint64_t account_take(_Atomic uint64_t *due, enum account_kind kind, uint32_t rate,
	const struct account_terms *t, const uint64_t need_most[2]);
// Takes tokens whether or not there are so many: who comes later waits for it. now in units.
void account_owe(_Atomic uint64_t *due, enum account_kind kind, uint32_t rate, uint64_t now,
	uint64_t tokens);
// Gives back tokens that were taken at that rate.
void account_give(_Atomic uint64_t *due, enum account_kind kind, uint32_t rate, uint64_t tokens);
