// SPDX-License-Identifier: BSD-3-Clause
// The relayed transport address of an allocation: its own (relay_ports.c), or one that several
// allocations share (shared.c). Whoever takes one is its user, and has no more of what a worker has
// than his share. All that changes what is free is told to the other workers (vacancy.h).
#pragma once

#include "relayed/relay_ports.h"
#include "turn.h"
#include "turn_refusal.h"

struct relayed_want {
	bool is_v4;
	enum relay_ports_kind kind; // matters for ports that are not shared
	uint64_t user; // the half of a quota_ref
	uint32_t per_user; // limits.per-user of his realm; 0 = no limit, and no share either
};

// Whether the box has relayed transport addresses of a family.
bool relayed_has_family(const struct turn_shard *s, bool is_v4);
// Takes a slot for an allocation. On shared ports it also chooses the shared address: the one with
// the fewest endpoints, among those the one with the fewest allocations, among those any.
// TURN_REFUSED_NO_PORT when there is none left, TURN_REFUSED_RELAY_LOST when none is on an address
// that this box still has, TURN_REFUSED_NO_MEMORY when no slot is left for a shared one, and
// TURN_REFUSED_PORT_SHARE when the user has his share.
enum turn_refusal relayed_take(
	struct turn_shard *s, const struct relayed_want *want, uint32_t *slot);
// Takes the slot for a relayed transport address of this shard: at is what turn_relay_map_home says
// of it, a slot or the number of a shared address. It counts for the user, whatever his share is.
// Refusals as of relayed_take; TURN_REFUSED_NO_PORT when it is taken, or still rests.
enum turn_refusal relayed_take_at(
	struct turn_shard *s, uint32_t place, uint64_t user, uint32_t *slot);
// Gives back a slot of a user and its relayed transport address. Everything else of the allocation
// has ended before.
void relayed_give(struct turn_shard *s, uint32_t slot, uint64_t user);
// The same for one that nobody was told of, so that it need not rest.
void relayed_give_unused(struct turn_shard *s, uint32_t slot, uint64_t user);
// A slot that is taken is another user's from now on.
void relayed_pass(struct turn_shard *s, uint32_t slot, uint64_t old_user, uint64_t new_user);
// Tells the other workers what is free. For the start; all of the above do.
void relayed_tell(struct turn_shard *s);
// Index of the relay address of a slot that is taken; *port gets the port in host order.
uint32_t relayed_locate(const struct turn_shard *s, uint32_t slot, uint16_t *port);
