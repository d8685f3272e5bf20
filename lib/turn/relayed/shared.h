// SPDX-License-Identifier: BSD-3-Clause
// Relayed transport addresses that allocations share (relay: {mode: shared}).
// An allocation is found by the address that a peer sends to and the peer's own, which it has
// registered; on one shared address a peer's transport address belongs to one allocation. It stays
// registered as long as the record of the permission for it, which channels keep too.
#pragma once

#include "limits/holdings.h"
#include "limits/pool.h"
#include "limits/share.h"
#include "relayed/shared_map.h"
#include "table.h"
#include "turn.h"

struct shared_address {
	struct shared_place at;
	uint32_t endpoints, allocations; // live
};

// A transport address of a peer, registered.
struct shared_endpoint {
	struct addr addr;
	uint16_t port;
	uint16_t number; // of the shared address
	uint32_t slot;
	struct trie_links links; // child[0]: the next one of its permission
};
_Static_assert(sizeof(struct shared_endpoint) == 32, "two a cache line");

struct shared_slot {
	uint16_t number; // of its shared address
	uint16_t endpoints; // registered
};

struct shared {
	uint32_t nb; // addresses; 0: every allocation has one of its own, and nothing here is used
	struct shared_address *address;
	struct shared_endpoint *endpoint;
	struct shared_slot *slot;
	uint32_t *of_permission; // heads of lists of endpoints
	struct table table; // of endpoints
	struct turn_pool slots, endpoints;
	struct share share; // of endpoints
	struct holdings holdings;
	uint32_t nb_family[2]; // addresses by [is_v4]
};

// Bytes of what shared_init cuts up, 64-byte aligned and zeroed. l tells how many of each.
struct shared_sizes {
	uint32_t addresses, slots, permissions, endpoints;
	struct share share; // of endpoints
};
size_t shared_size(const struct shared_sizes *l);
// The slots' records must be at s->cold.
void shared_init(struct turn_shard *s, void *mem, const struct shared_sizes *l);

// Looks up the datagrams of peers of a burst: each view's slot, a number till then, becomes the
// allocation's or TURN_NONE.
void shared_look_up(struct turn_shard *s, struct turn_burst *b);
// Allocation that has registered the sender of a view looked up; TURN_NONE.
uint32_t shared_slot_of(const struct turn_shard *s, const struct turn_view *v);
// What stands in the way of registering a peer for an allocation. What is past its time does not.
enum shared_answer {
	SHARED_OURS, // nothing: it is registered
	SHARED_FREE, // nothing
	SHARED_COLLISION, // another allocation has it
	SHARED_FULL, // too many already
	SHARED_SHARE, // the user has it on as many addresses as limits.peer_share allows
};
enum shared_answer shared_ask(struct turn_shard *s, uint32_t slot, const struct endpoint *peer);
// Registers a peer of which shared_ask has said that it is free. To be followed by shared_keep,
// once the allocation has a permission for its address, or shared_withdraw. TURN_NONE when the
// table has no room.
uint32_t shared_register(struct turn_shard *s, uint32_t slot, const struct endpoint *peer);
void shared_keep(struct turn_shard *s, uint32_t endpoint);
void shared_withdraw(struct turn_shard *s, uint32_t endpoint);
// Ends what is registered with a permission, which is about to be freed: work for each of these
// endpoints, whatever else there is.
void shared_forget(struct turn_shard *s, uint32_t permission);
