// SPDX-License-Identifier: BSD-3-Clause
// Relayed transport addresses that allocations share (relay: {mode: shared}). An allocation is
// found by two addresses: the address to which a peer sends, and the peer's own address, which the
// allocation has registered. On one shared address, a peer's transport address belongs to one
// allocation. It stays registered as long as the record of its permission, which channels keep,
// too.
#pragma once

#include "features/shared/holdings.h"
#include "features/shared/shared_map.h"
#include "limits/pool.h"
#include "limits/share.h"
#include "tables/table.h"
#include "turn.h"

struct turn_shard_params;

struct shared_address {
	struct shared_relayed relayed;
	uint32_t endpoints, allocations; // live
};

// A peer's transport address that an allocation has registered.
struct shared_endpoint {
	struct addr addr;
	uint16_t port;
	uint16_t number; // of the shared address
	uint32_t slot;
	struct trie_links links; // child[0]: next endpoint of the same permission
};
_Static_assert(sizeof(struct shared_endpoint) == 32, "two per cache line");

struct shared_slot {
	union {
		struct {
			uint32_t next; // of the pool: child[0]
			uint16_t number; // of its shared address
			uint16_t endpoints; // number registered
		};
		struct trie_links links;
	};
};

struct shared {
	uint32_t nb; // shared addresses; 0: not shared, and nothing here is used
	struct shared_address *address;
	struct shared_endpoint *endpoint;
	struct shared_slot *slot;
	uint32_t *of_permission; // 1 + heads of the permissions' lists of endpoints; 0: none
	struct table table; // of endpoints
	struct turn_pool slots, endpoints;
	struct share share; // of endpoints
	struct holdings holdings;
	uint32_t nb_family[2]; // addresses by [is_v4]
};

// Bytes of memory, 64-byte aligned and zeroed, that shared_init divides; 0 if ports are not shared.
// permissions: the number of the shard's permissions.
size_t shared_size(const struct turn_shard_params *p, uint32_t permissions);
// Sets up s->shared in mem, if there is any. s->map, nb_slots and nb_permissions are set already.
void shared_init(struct turn_shard *s, void *mem, const struct turn_shard_params *p);
// Opens a round: makes the records that earlier rounds freed reusable.
void shared_round(struct turn_shard *s);
#ifdef SLIPRING_ASSERTS
// Checks all records, in models and fuzz tests. taken: number of allocated slots.
void shared_check(struct turn_shard *s, uint32_t taken);
#endif
// Number of records of endpoints that a shard has in the state area.
uint32_t shared_records(const struct turn_shard_params *p);

// Looks up the peers' datagrams of a burst: each view's slot, which was the number of a shared
// address, becomes the allocation's slot or TURN_NONE.
void shared_look_up(struct turn_shard *s, struct turn_burst *b);
// Slot of the allocation that has registered the sender of a view, or TURN_NONE. shared_look_up has
// processed the view.
uint32_t shared_slot_of(const struct turn_shard *s, const struct turn_view *v);
// Slot of the allocation that has registered a peer on the shared address with this number, or
// TURN_NONE. There may be no such address.
uint32_t shared_find(const struct turn_shard *s, uint32_t number, const struct endpoint *peer);
// Possibility to register a peer for an allocation. An expired obstacle is ended first, and does
// not count.
enum shared_answer {
	SHARED_OURS, // the allocation has registered it already
	SHARED_FREE, // the peer can be registered
	SHARED_COLLISION, // another allocation has it
	SHARED_FULL, // too many endpoints already
	SHARED_SHARE, // the user has it on as many addresses as relay.peer-share allows
};
enum shared_answer shared_ask(struct turn_shard *s, uint32_t slot, const struct endpoint *peer);
// Registers a peer for which shared_ask has returned SHARED_FREE. The caller then calls
// shared_keep, once the allocation has a permission for the peer's address, or shared_withdraw.
// Returns the endpoint, or TURN_NONE if there is no room.
uint32_t shared_register(struct turn_shard *s, uint32_t slot, const struct endpoint *peer);
void shared_keep(struct turn_shard *s, uint32_t endpoint);
void shared_withdraw(struct turn_shard *s, uint32_t endpoint);
// Ends all registrations under a permission that is about to be freed. The work grows only with the
// number of these endpoints.
void shared_forget(struct turn_shard *s, uint32_t permission);
