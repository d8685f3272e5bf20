// SPDX-License-Identifier: BSD-3-Clause
// Relay addresses that replace others towards some peers. An allocation has one relayed transport
// address, which its client is told. A peer of a pool sees the pool's address instead, with the
// same port, as behind a 1:1 translation.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "turn_config.h"

struct relay_pool_rule {
	struct prefix peers;
	uint32_t pool; // from 1
};

// Immutable once made, as a part of the policy. Empty if there are no pools.
struct relay_pools {
	struct relay_pool_rule *rule; // nb_rules, the longest prefix first
	// By source: the relay addresses first, then their replacements in pool 1, and so on. A
	// relay address without a replacement in a pool is listed itself.
	struct addr *addr; // (nb_pools + 1) * nb_relay
	bool *apart; // by source, too: it is on a port apart (turn_config.h)
	struct addr *relay; // nb_relay, sorted: other clients of the box are in no pool
	uint32_t nb_rules, nb_relay, nb_pools;
};

// Makes the pools, with the rules of the first realm's pools. False without memory;
// relay_pools_free frees a partial result in either case.
bool relay_pools_make(struct relay_pools *p, const struct turn_config *c);
// Gives p rules of its own, for the pools of a realm. False without memory. The caller frees
// p->rule in either case.
bool relay_pools_rules(
	struct relay_pools *p, const struct turn_config *c, const struct turn_realm *realm);
void relay_pools_free(struct relay_pools *p);
// The source by which a peer sees the relay address with this index: an index into p->addr. It is
// the index itself if the peer is in no pool.
uint32_t relay_pools_source(const struct relay_pools *p, uint32_t relay, const struct addr *peer);
// True if this peer may send to a source of that relay address: to the one by which it sees the
// relay address, and to the relay address itself unless the peer's network is apart.
bool relay_pools_takes(
	const struct relay_pools *p, uint32_t relay, const struct addr *peer, uint32_t source);
