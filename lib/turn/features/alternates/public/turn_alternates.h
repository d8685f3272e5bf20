// SPDX-License-Identifier: BSD-3-Clause
// Other servers, and the conditions under which a new allocation is refused so that its client goes
// to one of them (300, RFC 8489 10): while the box drains, always, or above some load. Alternates
// are immutable, as a policy is: the management lcore makes them, workers read them, and they are
// replaced as a whole (turn_shard_set_intake).
#pragma once

#include "addr.h"

// Another server, to which this server sends clients.
struct turn_alternate {
	struct addr addr;
	char *name; // in its certificate, for TLS and DTLS; NULL = this server's name
	// For UDP and TCP, and for TLS and DTLS. 0, or a listener for both kinds, means the port at
	// which the client arrived.
	uint16_t port, tls_port;
};

// Selects the new allocations that are refused.
enum turn_alternates_when {
	TURN_ALTERNATES_DRAIN, // those of clients whose family some alternate has
	// As DRAIN, except an Allocate with the token of a reservation that this server has made.
	TURN_ALTERNATES_ALWAYS,
	TURN_ALTERNATES_DATAGRAMS, // as ALWAYS, while the box relays too many datagrams
	TURN_ALTERNATES_ALLOCATIONS, // as ALWAYS, at min_allocations and above
};

struct turn_alternates_rule {
	enum turn_alternates_when when;
	uint32_t min_allocations; // for TURN_ALTERNATES_ALLOCATIONS
};

struct turn_alternates;

// Makes alternates with copies of nb servers; nb may be 0. NULL without memory.
struct turn_alternates *turn_alternates_create(
	const struct turn_alternates_rule *rule, const struct turn_alternate *list, uint32_t nb);
// Accepts NULL. No shard may still use them.
void turn_alternates_free(struct turn_alternates *d);
