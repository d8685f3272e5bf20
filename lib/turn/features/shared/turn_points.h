// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/turn for shared relay ports (lib/features/meson.build).
#pragma once

#include "features/shared/owner.h"
#include "features/shared/shared_slots.h"
#include "features/shared/shared.h"
#include "features/shared/shared_map.h"

// A shard without shared ports needs no function call.
#define SHARED_ROUND(s) ((s)->shared.nb > 0 ? shared_round(s) : (void)0)

#define SHARED_POLICY_VALUES(X)                 \
	X(uint32_t, shared_peers, shared.peers) \
	X(uint32_t, shared_share, shared.peer_share)
#define SHARED_MAPS(X)                                                                    \
	X(struct shared_map, shared, shared_map_create, shared_map_free, shared_map_home, \
		turn_shared_slots)
#define SHARED_PARTS(X) \
	X(struct shared, shared, shared_size, shared_init, SHARED_ROUND, shared_check)
#define SHARED_RELAYED(X)                                                                        \
	X(shared_slots_has_family, shared_slots_vacant, shared_slots_take, shared_slots_take_at, \
		shared_slots_give, shared_slots_locate)
#define SHARED_PEERS(X) X(shared_look_up, owner_ask, shared_find, owner_send)
#define SHARED_REGISTERED(X) X(owner_bind, owner_has, shared_forget, shared_records, owner_put)
