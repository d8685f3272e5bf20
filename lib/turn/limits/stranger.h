// SPDX-License-Identifier: BSD-3-Clause
// Decides about answers to senders that have not authenticated. Its budgets bound, for each kind of
// answer, the traffic that can be reflected to a victim. A flood with a spoofed address uses up
// only the budget of strangers at that address.
#pragma once

#include <stdbool.h>

#include "shard.h"

struct turn_request;

// Proof of a request's source address, before any credentials are checked.
enum proof {
	PROOF_NONE, // anybody may have sent it, from anywhere
	PROOF_STALE, // an expired nonce that we gave this 5-tuple: the sender has received it
	PROOF_ADDRESS, // a valid nonce, or a transport that begins with a handshake
};

// Bytes of memory for the limiters of a shard; stranger_init sets them up there, zeroed and 64-byte
// aligned.
size_t stranger_size(void);
void stranger_init(struct turn_shard *s, void *mem);
// True if one more answer without integrity may be sent to the source of a request; it is then
// counted. A request without a proof counts against limits.unauthenticated of its address. One with
// a stale nonce counts against limits.stale-nonce of its 5-tuple; if that has an allocation, the
// allocation's own record counts, so that nobody else can use up its budget. Worker lcore.
bool stranger_answers(struct turn_request *r);
// Keys under which a request with wrong credentials is counted: its source, the network of the
// source, its user name, and name and source together.
enum guess_by { GUESS_SOURCE, GUESS_NETWORK, GUESS_NAME, GUESS_PAIR, GUESS_END };
struct guess {
	uint64_t pair; // hash of name and source
	struct bucket *bucket[GUESS_END];
};

// The buckets of a request, which has USERNAME or USERHASH. Worker lcore, like the following
// functions.
struct guess stranger_guess(const struct turn_request *r);
// True if the credentials of a request may be verified. The nonce is already valid, so the failures
// that count did come from its address. False after too many failures (limits.guesses) in one of
// these cases: of the address, and also of this name at this address; of the network; or of the
// name from all addresses together, unless it has signed correctly from this address. A request
// that names the user of its allocation is always verified.
bool stranger_may_guess(struct turn_request *r, const struct guess *g);
// Counts a request with wrong integrity or an unknown user as a failure of its address and name.
void stranger_guessed(struct turn_request *r, const struct guess *g);
// Notes that the name of a request has signed correctly from its address.
void stranger_passed(struct turn_request *r, const struct guess *g);
