// SPDX-License-Identifier: BSD-3-Clause
// What a STUN request carries through its handler.
#pragma once

#include "auth/cred.h"
#include "requests/discovery.h"
#include "stun.h"
#include "turn.h"
#include "turn_refusal.h"

// One request on its way through its handler.
struct turn_request {
	struct turn_shard *s;
	struct turn_view *v;
	struct stun_msg m;
	// The realm that the request is judged in: that which it names, if its listener serves it,
	// else that whose credentials it is asked for.
	const struct turn_policy *policy;
	uint32_t slot; // live allocation of the 5-tuple, or TURN_NONE
	struct turn_cred cred; // whoever signed it; key.len 0 = nobody
	struct stun_writer w; // the success response, begun before the handler runs
	uint8_t proof; // enum proof
	struct discovery_ask ask; // of Binding
	struct endpoint peer; // that a refused request has named, for the event; :: = none
	// Set by a handler: the answer waits for it, and may become another one.
	struct turn_order *order;
	// A Refresh with a MOBILITY-TICKET: slot is the ticket's allocation, own that of the
	// 5-tuple, or TURN_NONE.
	uint32_t tuple_slot;
	uint32_t ticket; // number of the ticket, 0 = the request has none
	bool handover; // set by a handler: hand the datagram to `worker`
	uint8_t worker;
};

// Handles a STUN request completely: fills *plan, and side->front with the answer. *m is v's
// message, parsed.
void turn_request(struct turn_shard *s, struct turn_view *v, const struct stun_msg *m,
	struct turn_plan *plan, struct turn_side *side);
