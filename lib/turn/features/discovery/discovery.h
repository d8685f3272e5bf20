// SPDX-License-Identifier: BSD-3-Clause
// NAT behaviour discovery (RFC 5780): Binding requests that ask for an answer from another of two
// addresses and two ports, to another port, or with a longer datagram. UDP only.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "turn.h"

struct turn_config;
struct turn_request;

// The flags of CHANGE-REQUEST, as bits of an index.
#define DISCOVERY_PORT 1
#define DISCOVERY_IP 2
#define DISCOVERY_FORMS 4
#define DISCOVERY_NONE 0xff

// The listeners that take part, and those that send the answers. Immutable once made, as a part of
// the policy.
struct discovery {
	// By listener and flags: a listener. [0] is the listener itself, or DISCOVERY_NONE if it
	// takes no part. NULL = discovery is off.
	uint8_t (*responders)[DISCOVERY_FORMS];
	uint32_t nb; // number of listeners
};

// Attributes of a Binding request (RFC 5780 7).
struct discovery_ask {
	uint8_t flags; // of CHANGE-REQUEST, as an index
	bool has_padding;
	uint16_t padding; // bytes
	uint16_t port; // RESPONSE-PORT; 0 = the request's source port
};

// Collects the listeners of c->discovery; conf has checked that they exist. False without memory.
// discovery_free frees a partial result in either case.
bool discovery_make(struct discovery *d, const struct turn_config *c);
void discovery_free(struct discovery *d);
// True if an attribute of a request, by its wire type, belongs to RFC 5780 and the request's
// listener supports it.
bool discovery_knows(const struct turn_request *r, uint16_t type);
// Reads the attributes of a Binding request into r->discovery. False if one is malformed.
bool discovery_read(struct turn_request *r);
// Appends the attributes of the answer to a Binding request other than XOR-MAPPED-ADDRESS (RFC 5780
// 6.1), if discovery is on.
void discovery_put(struct turn_request *r);
// Sets the listener and the port in the plan of an answer.
void discovery_plan(const struct turn_request *r, struct turn_plan *plan);
