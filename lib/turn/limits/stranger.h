// SPDX-License-Identifier: BSD-3-Clause
// stranger.c: which answers go to senders who have not proved who they are. Its budgets bound, for
// each kind of answer, what can be reflected to a victim. A flood that spoofs an address spends
// only the budget that strangers at this address have.
#pragma once

#include <stdbool.h>

struct turn_request;

// What a request has shown about its source address, before any credentials are looked at.
enum proof {
	PROOF_NONE, // nothing: anybody may have sent it, from anywhere
	PROOF_STALE, // a nonce that we gave this 5-tuple, past its time: its sender has seen it
	PROOF_ADDRESS, // a nonce that is good, or a transport that begins with a handshake
};

// Whether one more answer without integrity may go to the source of a request; if so it is counted.
// A request that proves nothing counts against limits.unauthenticated of its address. One with a
// stale nonce counts against limits.stale-nonce of its 5-tuple; if that has an allocation, the
// allocation's own record counts, so that nobody else can spend its budget. Worker lcore.
bool stranger_answers(struct turn_request *r);
// Whether to verify the credentials of a request. False when its address has failed too often of
// late (limits.guesses), unless the request names the user of its allocation. The nonce is good
// already, so the failures did come from that address.
bool stranger_may_guess(struct turn_request *r);
// Counts a request with wrong integrity or an unknown user as a failure of its address.
void stranger_guessed(struct turn_request *r);
