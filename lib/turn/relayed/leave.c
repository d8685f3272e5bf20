// SPDX-License-Identifier: BSD-3-Clause
// Ends the allocations on addresses that the box is about to lose to others.
#include "turn_leave.h"
#include "shard.h"
#include "turn_judge.h"
#include "turn_listing.h"

static bool leaves_relay(const struct turn_shard *s, const struct turn_leave *l, uint32_t slot)
{
	const uint32_t relay = alloc_relay_index(s, slot);

	for (uint32_t i = 0; i < l->nb_relay; i++)
		if (l->relay[i] == relay)
			return true;
	return false;
}

unsigned int turn_leave_walk(
	struct turn_shard *s, const struct turn_leave *l, struct turn_walk *w, unsigned int max)
{
	unsigned int budget = TURN_JUDGE_BUDGET, n = 0;

	while (budget > 0 && n < max && !w->end && shard_has_notes(s)) {
		const uint32_t slot = bitset_next(&s->live, w->slot, s->nb_slots);
		unsigned int cost = 1;
		uint8_t listener;

		w->end = slot == s->nb_slots;
		if (w->end)
			break;
		listener = line_listener(alloc_at(s, slot));
		if (leaves_relay(s, l, slot) ||
			(l->listener[listener / 64] >> listener % 64 & 1) != 0) {
			// the walk visits its sibling, too
			cost += alloc_end_cost(s, slot);
			alloc_end(s, slot, TURN_END_ADDRESS);
			n++;
		}
		w->slot = slot + 1;
		budget -= budget < cost ? budget : cost;
	}
	return n;
}
