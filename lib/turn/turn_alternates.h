// SPDX-License-Identifier: BSD-3-Clause
// What clients are told while a box drains: that it makes no new allocations, and which servers do.
// A drain is immutable, as a policy is: the management lcore makes it, workers read it, and it is
// replaced as a whole (turn_shard_set_alternates).
#pragma once

#include "addr.h"

// A server that takes the clients of one that drains.
struct turn_alternate {
	struct addr addr;
	char *name; // in its certificate, for TLS and DTLS; NULL = this server's
	// For UDP and TCP, for TLS and DTLS. 0, and a listener of both, mean the port that the
	// client came to.
	uint16_t port, tls_port;
};

struct turn_alternates;

// Makes a drain with copies of nb alternates, which may be none. NULL without memory.
struct turn_alternates *turn_alternates_create(const struct turn_alternate *list, uint32_t nb);
// NULL is fine. No shard may have it any more.
void turn_alternates_free(struct turn_alternates *d);
