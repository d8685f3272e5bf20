// SPDX-License-Identifier: BSD-3-Clause
// Allocates that this worker has no relayed transport address for, and another one has.
#pragma once

#include "requests/request.h"

// What an Allocate asks for that is to be made on one worker.
struct elsewhere_want {
	bool family[2]; // [is_v4]; both of two
	bool is_tcp;
	uint8_t kind; // enum relay_ports_kind
};

// Whether an Allocate that was refused here may be granted where there is more free.
bool elsewhere_may_help(enum turn_refusal refusal);
// Sees to it that an Allocate, refused here for `why`, is made by a worker that has what is wanted.
// The home of the client chooses one and keeps a redirect to it; a worker that was chosen, and has
// nothing left by now, gives the request back, once. Nothing that the request has taken here may be
// left. TURN_GRANTED: it is handed over; else why it is refused: as here, or without room for a
// redirect.
enum turn_refusal elsewhere_allocate(
	struct turn_request *r, const struct elsewhere_want *want, enum turn_refusal refusal);
// Hands an Allocate over to a worker, with a redirect that counts for whoever asks.
// TURN_REFUSED_REDIRECTS: there is no room for one.
enum turn_refusal elsewhere_lead(struct turn_request *r, uint8_t worker);
