// SPDX-License-Identifier: BSD-3-Clause
// stranger.c: what those get who have not proved who they are. Its budgets say for each answer
// whose address it may be reflected to, and a flood that spoofs an address spends none but that of
// its strangers.
#pragma once

#include <stdbool.h>

struct turn_request;

// What a request has shown of its source address, before any credentials are looked at.
enum proof {
	PROOF_NONE, // nothing: anybody may have sent it, from anywhere
	PROOF_STALE, // a nonce that we gave to this 5-tuple, past its time: its sender has seen it
	PROOF_ADDRESS, // a nonce that is good, or a transport that begins with a handshake
};

// Whether one more answer without integrity may go to the source of a request, which is counted:
// where nothing is proved by limits.unauthenticated of the address, of a stale nonce by
// limits.stale-nonce of the 5-tuple, and for an allocation's client by what its own record counts,
// so that nobody else can spend it. Worker lcore.
bool stranger_answers(struct turn_request *r);
// Whether the credentials of a request are to be verified: false when its address has failed too
// often of late (limits.guesses), unless the request names the user of its allocation. Its nonce is
// good, so nobody but that address can have failed.
bool stranger_may_guess(struct turn_request *r);
// Counts a request whose integrity was wrong, or whose user there is not.
void stranger_guessed(struct turn_request *r);
