// SPDX-License-Identifier: BSD-3-Clause
// Other servers, and when a new allocation is refused so that its client goes to one of them (300,
// RFC 8489 10): while the box drains, always, or from some load on. Alternates are immutable, as a
// policy is: the management lcore makes them, workers read them, and they are replaced as a whole
// (turn_shard_set_alternates).
#pragma once

#include "addr.h"

// A server that takes clients of this one.
struct turn_alternate {
	struct addr addr;
	char *name; // in its certificate, for TLS and DTLS; NULL = this server's
	// For UDP and TCP, for TLS and DTLS. 0, and a listener of both, mean the port that the
	// client came to.
	uint16_t port, tls_port;
};

// Which new allocations are refused.
enum turn_alternates_when {
	TURN_ALTERNATES_DRAIN, // all, also where no alternate has the client's family: then by 508
	// All whose client has an alternate of its family. Others are made here, and so is one that
	// brings the token of a reservation that this server has made.
	TURN_ALTERNATES_ALWAYS,
	TURN_ALTERNATES_DATAGRAMS, // the same: the box relays as much as it may
	TURN_ALTERNATES_ALLOCATIONS, // the same, while there are `from` allocations or more
};

struct turn_alternates_rule {
	enum turn_alternates_when when;
	uint32_t min_allocations; // of TURN_ALTERNATES_ALLOCATIONS
};

struct turn_alternates;

// Makes alternates with copies of nb servers, which may be none. NULL without memory.
struct turn_alternates *turn_alternates_create(
	const struct turn_alternates_rule *rule, const struct turn_alternate *list, uint32_t nb);
// NULL is fine. No shard may have them any more.
void turn_alternates_free(struct turn_alternates *a);
