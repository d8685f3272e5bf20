// SPDX-License-Identifier: BSD-3-Clause
// NAT behaviour discovery (RFC 5780): Binding requests that ask to be answered from another of two
// addresses and two ports, to another port, or with a longer datagram. UDP alone.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "turn.h"
#include "turn_refusal.h"

struct turn_config;
struct turn_request;

// The flags of CHANGE-REQUEST, as bits of an index.
#define DISCOVERY_PORT 1
#define DISCOVERY_IP 2
#define DISCOVERY_FORMS 4
#define DISCOVERY_NONE 0xff

// Which listeners take part, and from which of them answers come. Immutable once made, as a part of
// the policy.
struct discovery {
	// By listener and flags: a listener. [0] is the listener itself, or DISCOVERY_NONE where it
	// takes no part. NULL = the usage is off.
	uint8_t (*responders)[DISCOVERY_FORMS];
	uint32_t nb; // listeners
};

// What a Binding request asks for (RFC 5780 7).
struct discovery_ask {
	uint8_t flags; // of CHANGE-REQUEST, as an index
	bool has_padding;
	uint16_t padding; // bytes
	uint16_t port; // RESPONSE-PORT; 0 = the one that it came from
};

// Collects the listeners of c->discovery, of which conf has checked that they are there. False
// without memory. discovery_free frees what was made in either case.
bool discovery_make(struct discovery *d, const struct turn_config *c);
void discovery_free(struct discovery *d);
// Whether an attribute of a request, by its wire type, is one of RFC 5780 and known where the
// request has come to.
bool discovery_knows(const struct turn_request *r, uint16_t type);
// Reads what a Binding request asks for into r->ask. TURN_GRANTED, or why it is refused: an unknown
// attribute, or a malformed one.
enum turn_refusal discovery_read(struct turn_request *r);
// Appends what the answer to a Binding request has beside XOR-MAPPED-ADDRESS (RFC 5780 6.1), where
// the usage is on.
void discovery_put(struct turn_request *r);
// Says in the plan of an answer by which listener it goes, and to which port.
void discovery_plan(const struct turn_request *r, struct turn_plan *plan);
