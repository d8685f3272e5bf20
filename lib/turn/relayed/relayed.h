// SPDX-License-Identifier: BSD-3-Clause
// The relayed transport address of an allocation: one of its own (relay_ports.c), or one that
// several share (shared.c).
#pragma once

#include "relayed/relay_ports.h"
#include "turn.h"

// Whether the shard has relayed transport addresses of a family.
bool relayed_has_family(const struct turn_shard *s, bool is_v4);
// Takes a slot for an allocation, and on shared ports the address that has the fewest endpoints:
// of several the fewest allocations, of several any. kind is for the others. False when there is
// none left.
bool relayed_take(struct turn_shard *s, bool is_v4, enum relay_ports_kind kind, uint32_t *slot);
// Gives back what was taken, of the allocation only its slot being left.
void relayed_give(struct turn_shard *s, uint32_t slot);
// Index of the relay address of a slot that is taken, and the port.
uint32_t relayed_locate(const struct turn_shard *s, uint32_t slot, uint16_t *port);
