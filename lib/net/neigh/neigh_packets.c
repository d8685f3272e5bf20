// SPDX-License-Identifier: BSD-3-Clause
// Packets held for an answer of a neighbour.
#include "neigh/neigh_packets.h"
#include "invariant.h"

#define PART 4 // a share may hold this fraction (1/4) of the remaining room

void neigh_packets_init(struct neigh_packets *p, void *mem, uint16_t total, uint16_t each)
{
	p->packet = mem;
	p->total = total;
	p->each = each;
	p->free = NEIGH_NONE;
	for (uint16_t i = total; i-- > 0;) {
		p->packet[i].next = p->free;
		p->free = i;
	}
}

unsigned int neigh_packets_room(
	const struct neigh_packets *p, const struct neigh_chain *c, uint8_t share)
{
	const unsigned int each = p->each - c->nb, held = p->by_share[share];
	unsigned int all = p->total - p->nb;

	// After n more packets, all - n entries are free, and the share may hold at most a quarter
	// of that number: held + n.
	if (share != NEIGH_SHARE_NONE)
		all = all > PART * held ? (all - PART * held + PART) / (PART + 1) : 0;
	return each < all ? each : all;
}

void neigh_packets_add(struct neigh_packets *p, struct neigh_chain *c, void *packet, uint8_t share)
{
	const uint16_t i = p->free;

	ASSERT(i != NEIGH_NONE && p->nb < p->total);
	ASSERT(c->nb == 0 || p->packet[c->last].next == NEIGH_NONE);
	p->free = p->packet[i].next;
	p->packet[i] = (struct neigh_packet){packet, NEIGH_NONE, share};
	if (c->nb == 0)
		c->first = i;
	else
		p->packet[c->last].next = i;
	c->last = i;
	c->nb++;
	p->nb++;
	p->by_share[share]++;
	ASSERT(c->nb <= p->each && p->by_share[share] <= p->nb);
}

void *neigh_packets_take(struct neigh_packets *p, struct neigh_chain *c)
{
	const uint16_t i = c->first;
	struct neigh_packet *held = &p->packet[i];
	void *packet;

	ASSERT(c->nb > 0 && i < p->total && held->packet != NULL);
	ASSERT(p->by_share[held->share] > 0 && p->nb >= c->nb);
	packet = held->packet;
	c->first = held->next;
	p->by_share[held->share]--;
	*held = (struct neigh_packet){NULL, p->free, 0};
	p->free = i;
	c->nb--;
	p->nb--;
	return packet;
}
