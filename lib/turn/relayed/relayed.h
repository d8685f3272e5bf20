// SPDX-License-Identifier: BSD-3-Clause
// The relayed transport address of an allocation: its own (relay_ports.c), or one that several
// allocations share (TURN_RELAYED). The user who takes one counts in the share of the worker's
// addresses. Every change of the free addresses is published to the other workers (vacancy.h).
#pragma once

#include "relayed/relay_ports.h"
#include "turn.h"
#include "turn_refusal.h"

struct relayed_want {
	bool is_v4;
	enum relay_ports_kind kind; // not used if ports are shared
	uint64_t user; // user half of a quota_ref
	uint32_t per_user; // limits.per-user of the realm; 0 = no limit, and no share either
};

// True if the box has relayed transport addresses of a family.
bool relayed_has_family(const struct turn_shard *s, bool is_v4);
// Allocates a slot. On shared ports it also chooses the shared address: the one with the fewest
// endpoints, then the fewest allocations, then at random. TURN_REFUSED_NO_PORT if no port is left,
// TURN_REFUSED_RELAY_LOST if no port is on an address that this box still has,
// TURN_REFUSED_NO_MEMORY if no slot for a shared port is left, and TURN_REFUSED_PORT_SHARE if the
// user has the whole share.
enum turn_refusal relayed_take(
	struct turn_shard *s, const struct relayed_want *want, uint32_t *slot);
// Allocates the slot of a relayed transport address of this shard: index is the result of
// turn_relay_map_home, a slot or the number of a shared address. It counts for the user, even
// beyond the share. Refusals as for relayed_take; TURN_REFUSED_NO_PORT if it is in use, or still
// rests.
enum turn_refusal relayed_take_at(
	struct turn_shard *s, uint32_t index, uint64_t user, uint32_t *slot);
// Frees a user's slot and its relayed transport address. All other parts of the allocation have
// ended before.
void relayed_give(struct turn_shard *s, uint32_t slot, uint64_t user);
// relayed_give() for an address that was not announced to any client, so that it need not rest.
void relayed_give_unused(struct turn_shard *s, uint32_t slot, uint64_t user);
// Moves an allocated slot to another user.
void relayed_pass(struct turn_shard *s, uint32_t slot, uint64_t old_user, uint64_t new_user);
// Publishes the vacancies to the other workers. For the start; all functions above do so.
void relayed_tell(struct turn_shard *s);
// Index of the relay address of an allocated slot; *port gets the port in host order.
uint32_t relayed_locate(const struct turn_shard *s, uint32_t slot, uint16_t *port);
