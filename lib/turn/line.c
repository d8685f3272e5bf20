// SPDX-License-Identifier: BSD-3-Clause
// Keeps the copy in the line of an allocation: of one channel, or of one peer without a channel.
#include "line.h"
#include "route.h"
#include "shard.h"

static bool copy_is_of(const struct turn_line *l, const struct endpoint *peer)
{
	return line_port(l, TURN_FROM_PEER) == peer->port &&
		addr_eq(&l->end[TURN_FROM_PEER], &peer->addr);
}

bool line_has(const struct turn_shard *s, uint32_t slot, const struct endpoint *peer)
{
	const struct turn_line *l = alloc_at(s, slot);

	return s->tick < l->until && copy_is_of(l, peer);
}

// Makes this peer the line's. False when the policy does not plainly allow the peer: it may be one
// of our own addresses, whose datagrams come in process only, never from a port.
static bool copy_make(struct turn_shard *s, uint32_t slot, const struct endpoint *peer)
{
	struct turn_line *l = alloc_at(s, slot);

	l->channel = 0;
	l->until = 0;
	if (copy_is_of(l, peer))
		return true;
	if (turn_policy_peer(s->policy, &peer->addr, peer->port) != TURN_PEER_ALLOW)
		return false;
	l->end[TURN_FROM_PEER] = peer->addr;
	l->mark[TURN_FROM_PEER] = peer->port |
		relay_pools_source(&s->policy->relay_pools, alloc_relay_index(s, slot), &peer->addr)
			<< 16;
	l->hop[TURN_FROM_PEER] = 0;
	return true;
}

// Completes the copy: it is good for left_ms or until the allocation ends.
static void copy_made(struct turn_shard *s, uint32_t slot, uint32_t left_ms)
{
	const uint32_t alloc_ms = alloc_left(s, slot);
	const uint64_t until_ms = s->now_ms + (left_ms < alloc_ms ? left_ms : alloc_ms);

	alloc_at(s, slot)->until = (uint32_t)(until_ms / TURN_LINE_MS);
	if (s->line_made != NULL)
		s->line_made(s->ctx, slot);
}

void line_copy(struct turn_shard *s, uint32_t slot, uint32_t channel)
{
	struct turn_line *l = alloc_at(s, slot);
	struct endpoint peer;

	l->channel = 0;
	l->until = 0;
	if (channel == TURN_NONE)
		return;
	peer = (struct endpoint){
		s->permission[s->channel[channel].permission].peer, s->channel[channel].port};
	if (!copy_make(s, slot, &peer))
		return;
	l->channel = __builtin_bswap16(s->channel[channel].number);
	copy_made(s, slot, peers_left(s, channel));
}

void line_copy_peer(struct turn_shard *s, uint32_t slot, const struct endpoint *peer)
{
	if (copy_make(s, slot, peer))
		copy_made(s, slot, peers_permission_time(s, slot, &peer->addr));
}

void line_copy_channel(struct turn_shard *s, uint32_t slot)
{
	const uint16_t number = __builtin_bswap16(alloc_at(s, slot)->channel);
	uint32_t channel = number != 0 ? peers_channel_by_number(s, slot, number) : TURN_NONE;

	if (channel == TURN_NONE)
		channel = cold_at(s, slot)->channels;
	line_copy(s, slot, channel);
}

void turn_line_spill(struct turn_shard *s, uint32_t slot)
{
	struct turn_line *l = alloc_at(s, slot);
	struct turn_cold *c = cold_at(s, slot);

	if (l->count[TURN_FROM_CLIENT] >= TURN_LINE_SPILL) {
		c->rx_spills++;
		l->count[TURN_FROM_CLIENT] -= TURN_LINE_SPILL;
	}
	if (l->count[TURN_FROM_PEER] >= TURN_LINE_SPILL) {
		c->tx_spills++;
		l->count[TURN_FROM_PEER] -= TURN_LINE_SPILL;
	}
}

// Whether the copy is of a peer without a channel and a datagram comes from the line's end on its
// leg.
static bool vouches_without_channel(
	const struct turn_line *l, const struct turn_view *v, uint32_t tick)
{
	return l->channel == 0 && tick < l->until && addr_eq(&l->end[v->leg], &v->src) &&
		l->mark[v->leg] == v->mark;
}

uint16_t turn_line_send(
	const struct turn_line *l, const struct turn_view *v, uint32_t tick, uint16_t *len)
{
	const struct endpoint peer = {l->end[TURN_FROM_PEER], line_port(l, TURN_FROM_PEER)};

	if (!vouches_without_channel(l, v, tick))
		return 0;
	return stun_send_indication(v->data, v->len, &peer, len);
}

uint16_t turn_line_data(
	struct turn_shard *s, const struct turn_view *v, uint32_t tick, uint8_t *front)
{
	if (v->len > TURN_DATA_MAX || !vouches_without_channel(alloc_at(s, v->slot), v, tick))
		return 0;
	return route_data_indication(s, v, front);
}
