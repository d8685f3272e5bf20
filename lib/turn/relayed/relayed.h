// SPDX-License-Identifier: BSD-3-Clause
// The relayed transport address of an allocation: its own (relay_ports.c), or one that several
// allocations share (shared.c).
#pragma once

#include "relayed/relay_ports.h"
#include "turn.h"
#include "turn_refusal.h"

// Whether the shard has relayed transport addresses of a family.
bool relayed_has_family(const struct turn_shard *s, bool is_v4);
// Takes a slot for an allocation. On shared ports it also chooses the shared address: the one with
// the fewest endpoints, among those the one with the fewest allocations, among those any. kind
// matters for ports that are not shared. TURN_REFUSED_NO_PORT when there is none left,
// TURN_REFUSED_RELAY_LOST when none is on an address that this box still has, and
// TURN_REFUSED_NO_MEMORY when no slot is left for a shared one.
enum turn_refusal relayed_take(
	struct turn_shard *s, bool is_v4, enum relay_ports_kind kind, uint32_t *slot);
// Takes the slot for a relayed transport address of this shard: at is what turn_relay_map_home says
// of it, a slot or the number of a shared address. Refusals as of relayed_take;
// TURN_REFUSED_NO_PORT when it is taken, or still rests.
enum turn_refusal relayed_take_at(struct turn_shard *s, uint32_t at, uint32_t *slot);
// Gives back a slot and its relayed transport address. Everything else of the allocation has ended
// before.
void relayed_give(struct turn_shard *s, uint32_t slot);
// Index of the relay address of a slot that is taken; *port gets the port in host order.
uint32_t relayed_locate(const struct turn_shard *s, uint32_t slot, uint16_t *port);
