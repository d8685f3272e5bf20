// SPDX-License-Identifier: BSD-3-Clause
// Allocations for which this worker has no relayed transport address, and another one has.
#pragma once

#include "requests/request.h"

// Requirements of an Allocate that one worker must meet.
struct elsewhere_want {
	bool family[2]; // [is_v4]; one or both
	bool is_tcp;
	uint8_t kind; // enum relay_ports_kind
};

// True if an Allocate that was refused here may succeed on a worker with more free ports.
bool elsewhere_may_help(enum turn_refusal refusal);
// Has an Allocate, refused here for `refusal`, made by a worker that has the wanted addresses. The
// home of the client chooses one and keeps a redirect to it; a chosen worker that has nothing left
// returns the request, once. The caller must have freed everything that the request had allocated
// here. TURN_GRANTED: the request is handed over; else the reason for the refusal: the same one, or
// no room for a redirect.
enum turn_refusal elsewhere_allocate(
	struct turn_request *r, const struct elsewhere_want *want, enum turn_refusal refusal);
// Hands an Allocate over to a worker, with a redirect that counts for the requesting user.
// TURN_REFUSED_REDIRECTS: there is no room for a redirect.
enum turn_refusal elsewhere_lead(struct turn_request *r, uint8_t worker);
