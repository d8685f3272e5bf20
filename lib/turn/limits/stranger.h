// SPDX-License-Identifier: BSD-3-Clause
// stranger.c: which answers go to senders who have not proved who they are. Its budgets bound, for
// each kind of answer, what can be reflected to a victim. A flood that spoofs an address spends
// only the budget that strangers at this address have.
#pragma once

#include <stdbool.h>

#include "shard.h"

struct turn_request;

// What a request has shown about its source address, before any credentials are looked at.
enum proof {
	PROOF_NONE, // nothing: anybody may have sent it, from anywhere
	PROOF_STALE, // a nonce that we gave this 5-tuple, past its time: its sender has seen it
	PROOF_ADDRESS, // a nonce that is good, or a transport that begins with a handshake
};

// Bytes of memory for the limiters of a shard; and sets them up there, zeroed and 64-byte aligned.
size_t stranger_size(void);
void stranger_init(struct turn_shard *s, void *mem);
// Whether one more answer without integrity may go to the source of a request; if so it is counted.
// A request that proves nothing counts against limits.unauthenticated of its address. One with a
// stale nonce counts against limits.stale-nonce of its 5-tuple; if that has an allocation, the
// allocation's own record counts, so that nobody else can spend its budget. Worker lcore.
bool stranger_answers(struct turn_request *r);
// By whom a request is counted if its credentials are wrong: its source, the network of this, the
// name that it has, and name and source together.
enum guess_by { GUESS_SOURCE, GUESS_NETWORK, GUESS_NAME, GUESS_PAIR, GUESS_END };
struct guess {
	uint64_t pair; // hash of name and source
	struct bucket *bucket[GUESS_END];
};

// The request has USERNAME or USERHASH. The same worker lcore as the rest.
struct guess stranger_guess(const struct turn_request *r);
// Whether to verify the credentials of a request. The nonce is good already, so the failures that
// count did come from its address. False when its address has failed too often of late
// (limits.guesses) and so has this name from this address; when its network has; or when the name
// has, from all addresses together, unless it has signed well from this one. A request that names
// the user of its allocation is verified always.
bool stranger_may_guess(struct turn_request *r, const struct guess *g);
// Counts a request with wrong integrity or an unknown user as a failure of its address and name.
void stranger_guessed(struct turn_request *r, const struct guess *g);
// Notes that the name of a request has signed well from its address.
void stranger_passed(struct turn_request *r, const struct guess *g);
