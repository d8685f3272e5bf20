// SPDX-License-Identifier: BSD-3-Clause
// Keeps the copy in an allocation's line: of one channel, or of one peer without a channel.
#include "line.h"
#include "invariant.h"
#include "shard.h"

static bool copy_is_of(const struct turn_line *l, const struct endpoint *peer)
{
	return line_port(l, TURN_FROM_PEER) == peer->port &&
		addr_eq(&l->end[TURN_FROM_PEER], &peer->addr);
}

bool line_has(const struct turn_shard *s, uint32_t slot, const struct endpoint *peer)
{
	const struct turn_line *l = alloc_at(s, slot);

	return line_copies(l, s->tick) && copy_is_of(l, peer);
}

// Makes this peer the peer of the line. False if the policy does not plainly allow it: it may be
// one of our own addresses, whose datagrams arrive inside the process only, never from a port.
static bool copy_make(struct turn_shard *s, uint32_t slot, const struct endpoint *peer)
{
	const struct turn_policy *p = alloc_policy(s, slot);
	struct turn_line *l = alloc_at(s, slot);

	l->channel = 0;
	l->until = 0;
	if (copy_is_of(l, peer))
		return true;
	if (turn_policy_peer(p, &peer->addr, peer->port) != TURN_PEER_ALLOW)
		return false;
	l->end[TURN_FROM_PEER] = peer->addr;
	l->mark[TURN_FROM_PEER] = peer->port |
		relay_pools_source(&p->relay_pools, alloc_relay_index(s, slot), &peer->addr) << 16;
	l->hop[TURN_FROM_PEER] = 0;
	return true;
}

// True if a valid copy in the line is that of a live channel or permission of its allocation.
static inline bool copy_is_true(const struct turn_shard *s, uint32_t slot)
{
	const struct turn_line *l = alloc_at(s, slot);
	const struct endpoint peer = {l->end[TURN_FROM_PEER], line_port(l, TURN_FROM_PEER)};
	const uint16_t number = __builtin_bswap16(l->channel);
	uint32_t channel;

	if (!line_copies(l, s->tick))
		return true;
	if (number == 0)
		return peers_permission_live(s, slot, &peer.addr);
	channel = peers_channel_by_number(s, slot, number);
	return channel != TURN_NONE && peers_channel_live(s, channel) &&
		channel == peers_channel_by_peer(s, slot, &peer);
}

// Completes the copy: it is valid for left_ms or until the allocation ends.
static void copy_made(struct turn_shard *s, uint32_t slot, uint32_t left_ms)
{
	const uint32_t alloc_ms = alloc_left(s, slot);
	const uint64_t until_ms = s->now_ms + (left_ms < alloc_ms ? left_ms : alloc_ms);
	const uint64_t latest = (uint64_t)s->tick + TURN_LINE_AHEAD;
	const uint64_t until = until_ms / TURN_LINE_MS;
	const uint16_t low = (uint16_t)(until < latest ? until : latest);

	ASSERT(line_state(alloc_at(s, slot)) == ALLOC_LIVE);
	ASSERT(left_ms > 0);
	// UINT16_MAX is a tick earlier; 0 means no copy.
	alloc_at(s, slot)->until = low != 0 ? low : UINT16_MAX;
	if (s->line_made != NULL)
		s->line_made(s->ctx, slot);
}

void line_copy(struct turn_shard *s, uint32_t slot, uint32_t channel)
{
	struct turn_line *l = alloc_at(s, slot);
	struct endpoint peer;

	l->channel = 0;
	l->until = 0;
	if (channel == TURN_NONE || peers_channel_time(s, channel) == 0)
		return;
	ASSERT(s->channel[channel].slot == slot);
	peer = (struct endpoint){
		s->permission[s->channel[channel].permission].peer, s->channel[channel].port};
	if (!copy_make(s, slot, &peer))
		return;
	l->channel = __builtin_bswap16(s->channel[channel].number);
	copy_made(s, slot, peers_channel_time(s, channel));
	ASSERT(copy_is_true(s, slot));
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
	ASSERT(copy_is_true(s, slot));
}

void turn_line_spill(struct turn_shard *s, uint32_t slot, unsigned int leg)
{
	struct line_count c = line_count(alloc_at(s, slot), leg);
	struct usage *u = &s->usage[slot];

	ASSERT(c.bytes >= TURN_SPILL_BYTES || c.datagrams >= TURN_SPILL_DATAGRAMS);
	if (c.bytes >= TURN_SPILL_BYTES) {
		u->bytes[leg]++;
		c.bytes -= TURN_SPILL_BYTES;
		sums_bytes(s, slot, leg, TURN_SPILL_BYTES);
	}
	if (c.datagrams >= TURN_SPILL_DATAGRAMS) {
		u->datagrams[leg]++;
		c.datagrams -= TURN_SPILL_DATAGRAMS;
		sums_datagrams(s, slot, leg, TURN_SPILL_DATAGRAMS);
	}
	// the spare bits are clear again
	ASSERT(c.bytes < TURN_SPILL_BYTES && c.datagrams < TURN_SPILL_DATAGRAMS);
	line_set_count(alloc_at(s, slot), leg, c);
}

void line_forget_all(struct turn_shard *s)
{
	for (uint32_t slot = 0; slot < s->nb_slots; slot++)
		if (line_state(alloc_at(s, slot)) == ALLOC_LIVE)
			line_copy(s, slot, TURN_NONE);
}
