// SPDX-License-Identifier: BSD-3-Clause
// Slots and shared relayed transport addresses for the allocations of a worker. Each function
// stands for one of relayed/relayed.h, which describes it.
#pragma once

#include "relayed/vacancy.h"
#include "turn.h"
#include "turn_refusal.h"

// True if there are shared addresses of a family: then every worker has some.
bool shared_slots_has_family(const struct turn_shard *s, bool is_v4);
// Sets f->nb, in *f that is zeroed, to the number of free slots, which serve both families.
void shared_slots_vacant(const struct turn_shard *s, struct vacancy_family *f);
// Allocates a slot, and the shared address with the fewest endpoints, then the fewest allocations,
// then at random. TURN_REFUSED_RELAY_LOST if this box has lost all of the family,
// TURN_REFUSED_NO_MEMORY if no slot is left.
enum turn_refusal shared_slots_take(struct turn_shard *s, bool is_v4, uint32_t *slot);
// Allocates a slot at the shared address with this number. Refusals as for shared_slots_take.
enum turn_refusal shared_slots_take_at(struct turn_shard *s, uint32_t number, uint32_t *slot);
// Frees a slot, whose allocation has no endpoints any more.
void shared_slots_give(struct turn_shard *s, uint32_t slot);
// Index of the relay address of an allocated slot; *port gets the port in host order.
uint32_t shared_slots_locate(const struct turn_shard *s, uint32_t slot, uint16_t *port);
