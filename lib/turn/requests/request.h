// SPDX-License-Identifier: BSD-3-Clause
// A STUN request on its way through its handler.
#pragma once

#include "auth/cred.h"
#include "stun.h"
#include "turn.h"

// One request on its way through its handler.
struct turn_request {
	struct turn_shard *s;
	struct turn_view *v;
	struct stun_msg m;
	uint32_t slot; // live allocation of the 5-tuple, or TURN_NONE
	struct turn_cred cred; // who signed it; key.len 0 = nobody
	struct stun_writer w; // a handler that returns 0 finds a success response begun here
	uint8_t proof; // enum proof
	const char *reason; // in place of the phrase that goes with the code; NULL = that one
	bool handover; // a handler asks for: hand the datagram to worker `worker`
	uint8_t worker;
};

// Answers a STUN request whole: plan and side->front.
void turn_request(struct turn_shard *s, struct turn_view *v, const struct stun_msg *m,
	struct turn_plan *plan, struct turn_side *side);
