// SPDX-License-Identifier: BSD-3-Clause
// The state of a STUN request during its handling.
#pragma once

#include "auth/cred.h"
#include "stun.h"
#include "turn.h"
#include "turn_features.h"
#include "turn_refusal.h"

// A request that is being handled.
struct turn_request {
	struct turn_shard *s;
	struct turn_view *v;
	struct stun_msg m;
	// The realm that judges the request: the one in the request, if its listener serves it,
	// else the one used for the challenge.
	const struct turn_policy *policy;
	uint32_t slot; // live allocation of the 5-tuple, or TURN_NONE
	struct turn_cred cred; // the credentials that signed it; key.len 0 = not signed
	struct stun_writer w; // the success response, begun before the handler runs
	uint8_t proof; // enum proof
	struct endpoint peer; // requested peer of a refused request, for the event; :: = no peer
	struct turn_side *side; // side->front has the answer
	// If slot is an allocation that the request names: that of the 5-tuple, or TURN_NONE.
	uint32_t tuple_slot;
	bool handover; // set by a handler: hand the datagram to `worker`
	uint8_t worker;
#define X(type, field) type field;
	TURN_REQUEST(X)
#undef X
};

// Handles a STUN request completely: fills *plan, and side->front with the answer. *m is v's parsed
// message.
void turn_request(struct turn_shard *s, struct turn_view *v, const struct stun_msg *m,
	struct turn_plan *plan, struct turn_side *side);
// Begins an error response with the usual phrase, and discards what the writer has.
void request_begin_error(struct turn_request *r, unsigned int code);
// Appends integrity, if signed_, and fingerprint. Returns the length of the answer, or 0 if it
// failed.
uint16_t request_sign(struct turn_request *r, bool signed_);
