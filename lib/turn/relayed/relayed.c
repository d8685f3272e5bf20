// SPDX-License-Identifier: BSD-3-Clause
// Takes and gives relayed transport addresses: one for each allocation (relay_ports.c), or a few
// that all of a shard's allocations share (shared.c).
#include "relayed/relayed.h"
#include "relayed/relay_ports.h"
#include "shard.h"

#define TRIES 64

bool relayed_has_family(const struct turn_shard *s, bool is_v4)
{
	for (uint32_t i = 0; i < s->shared.nb; i++)
		if (s->shared.address[i].at.is_v4 == is_v4)
			return true;
	return s->shared.nb == 0 && relay_ports_has_family(s->ports, is_v4);
}

static int load_cmp(const struct shared_address *a, const struct shared_address *b)
{
	if (a->endpoints != b->endpoints)
		return a->endpoints < b->endpoints ? -1 : 1;
	if (a->allocations != b->allocations)
		return a->allocations < b->allocations ? -1 : 1;
	return 0;
}

// Chooses the shared address of a family for a new allocation. Clients that are about to have the
// same peer are spread by the endpoints that earlier clients have registered. As long as none has
// registered any, every address gets the same number of clients.
static uint32_t choose(const struct turn_shard *s, bool is_v4)
{
	const struct shared_address *address = s->shared.address;
	const struct shared_address *best = NULL;
	uint32_t nb = 0, nth, i;

	for (i = 0; i < s->shared.nb; i++) {
		const int order = best != NULL ? load_cmp(&address[i], best) : -1;

		if (address[i].at.is_v4 != is_v4 || order > 0 ||
			turn_relay_map_lost(s->map, address[i].at.addr))
			continue;
		nb = order < 0 ? 1 : nb + 1;
		best = order < 0 ? &address[i] : best;
	}
	if (nb == 0)
		return TURN_NONE;
	nth = csprng_below(s->rng, nb);
	for (i = 0; i < s->shared.nb; i++)
		if (address[i].at.is_v4 == is_v4 && load_cmp(&address[i], best) == 0 &&
			!turn_relay_map_lost(s->map, address[i].at.addr) && nth-- == 0)
			break;
	return i;
}

// Takes a port of an address that this box still has. Ports are chosen among all: with one of two
// addresses lost, all tries fail once in 2^TRIES.
static enum turn_refusal take_unique(
	struct turn_shard *s, const struct relay_ports_want *want, uint32_t *slot)
{
	for (unsigned int i = 0; i < TRIES; i++) {
		uint16_t port;

		if (!relay_ports_take(s->ports, want, slot, &s->stats.port_reused_early))
			return TURN_REFUSED_NO_PORT;
		if (!turn_relay_map_lost(
			    s->map, turn_relay_map_locate(s->map, s->worker, *slot, &port)))
			return TURN_GRANTED;
		relay_ports_give_unused(s->ports, *slot);
		if (want->kind == RELAY_PORTS_PAIR)
			relay_ports_give_unused(s->ports, *slot + 1);
	}
	return TURN_REFUSED_RELAY_LOST;
}

static enum turn_refusal take_shared(struct turn_shard *s, uint32_t number, uint32_t *slot)
{
	struct shared *h = &s->shared;

	*slot = pool_take(&h->slots);
	if (*slot == TURN_NONE)
		return TURN_REFUSED_NO_MEMORY;
	h->slot[*slot] = (struct shared_slot){.number = (uint16_t)number};
	h->address[number].allocations++;
	return TURN_GRANTED;
}

enum turn_refusal relayed_take(
	struct turn_shard *s, bool is_v4, enum relay_ports_kind kind, uint32_t *slot)
{
	const struct relay_ports_want want = {.is_v4 = is_v4,
		.kind = kind,
		.quarantine_s = s->policy->quarantine_s,
		.now_ms = s->now_ms};
	uint32_t number;

	if (s->shared.nb == 0)
		return take_unique(s, &want, slot);
	number = choose(s, is_v4);
	if (number == TURN_NONE) // there are some of each family that is asked for
		return TURN_REFUSED_RELAY_LOST;
	return take_shared(s, number, slot);
}

enum turn_refusal relayed_take_at(struct turn_shard *s, uint32_t at, uint32_t *slot)
{
	uint16_t port;

	if (s->shared.nb > 0)
		return turn_relay_map_lost(s->map, s->shared.address[at].at.addr)
			? TURN_REFUSED_RELAY_LOST
			: take_shared(s, at, slot);
	if (turn_relay_map_lost(s->map, turn_relay_map_locate(s->map, s->worker, at, &port)))
		return TURN_REFUSED_RELAY_LOST;
	*slot = at;
	return relay_ports_take_slot(s->ports, at) ? TURN_GRANTED : TURN_REFUSED_NO_PORT;
}

void relayed_give(struct turn_shard *s, uint32_t slot)
{
	struct shared *h = &s->shared;

	if (h->nb == 0)
		return relay_ports_give(s->ports, slot, s->now_ms);
	h->address[h->slot[slot].number].allocations--;
	pool_give(&h->slots, slot);
}

uint32_t relayed_locate(const struct turn_shard *s, uint32_t slot, uint16_t *port)
{
	const struct shared_place *at;

	if (s->shared.nb == 0)
		return turn_relay_map_locate(s->map, s->worker, slot, port);
	at = &s->shared.address[s->shared.slot[slot].number].at;
	*port = at->port;
	return at->addr;
}
