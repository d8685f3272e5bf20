// SPDX-License-Identifier: BSD-3-Clause
// Chooses shared relayed transport addresses for allocations, and counts the allocations on each.
#include "features/shared/shared_slots.h"
#include "invariant.h"
#include "shard.h"

bool shared_slots_has_family(const struct turn_shard *s, bool is_v4)
{
	return s->shared.nb_family[is_v4] > 0;
}

void shared_slots_vacant(const struct turn_shard *s, struct vacancy_family *f)
{
	f->nb = s->shared.slots.free + s->shared.slots.limbo;
}

static int load_cmp(const struct shared_address *a, const struct shared_address *b)
{
	if (a->endpoints != b->endpoints)
		return a->endpoints < b->endpoints ? -1 : 1;
	if (a->allocations != b->allocations)
		return a->allocations < b->allocations ? -1 : 1;
	return 0;
}

// Chooses the shared address of a family for a new allocation. Clients that will have the same peer
// are spread by the endpoints that earlier clients have registered. Before any client has
// registered an endpoint, every address gets the same number of clients.
static uint32_t choose_address(const struct turn_shard *s, bool is_v4)
{
	const struct shared_address *address = s->shared.address;
	const struct shared_address *best = NULL;
	uint32_t nb = 0, nth, i;

	for (i = 0; i < s->shared.nb; i++) {
		const int order = best != NULL ? load_cmp(&address[i], best) : -1;

		if (address[i].relayed.is_v4 != is_v4 || order > 0 ||
			turn_relay_map_lost(s->map, address[i].relayed.addr))
			continue;
		nb = order < 0 ? 1 : nb + 1;
		best = order < 0 ? &address[i] : best;
	}
	if (nb == 0)
		return TURN_NONE;
	nth = csprng_below(s->rng, nb);
	for (i = 0; i < s->shared.nb; i++)
		if (address[i].relayed.is_v4 == is_v4 && load_cmp(&address[i], best) == 0 &&
			!turn_relay_map_lost(s->map, address[i].relayed.addr) && nth-- == 0)
			break;
	return i;
}

static enum turn_refusal take_number(struct turn_shard *s, uint32_t number, uint32_t *slot)
{
	struct shared *h = &s->shared;

	*slot = pool_take(&h->slots);
	if (*slot == TURN_NONE)
		return TURN_REFUSED_NO_MEMORY;
	ASSERT(h->slot[*slot].endpoints == 0 && number < h->nb);
	h->slot[*slot] = (struct shared_slot){.number = (uint16_t)number};
	h->address[number].allocations++;
	return TURN_GRANTED;
}

enum turn_refusal shared_slots_take(struct turn_shard *s, bool is_v4, uint32_t *slot)
{
	const uint32_t number = choose_address(s, is_v4);

	return number != TURN_NONE ? take_number(s, number, slot) : TURN_REFUSED_RELAY_LOST;
}

enum turn_refusal shared_slots_take_at(struct turn_shard *s, uint32_t number, uint32_t *slot)
{
	return turn_relay_map_lost(s->map, s->shared.address[number].relayed.addr)
		? TURN_REFUSED_RELAY_LOST
		: take_number(s, number, slot);
}

void shared_slots_give(struct turn_shard *s, uint32_t slot)
{
	struct shared *h = &s->shared;

	ASSERT(h->slot[slot].endpoints == 0);
	ASSERT(h->address[h->slot[slot].number].allocations > 0);
	h->address[h->slot[slot].number].allocations--;
	pool_give(&h->slots, slot);
}

uint32_t shared_slots_locate(const struct turn_shard *s, uint32_t slot, uint16_t *port)
{
	const struct shared_relayed *relayed =
		&s->shared.address[s->shared.slot[slot].number].relayed;

	*port = relayed->port;
	return relayed->addr;
}
