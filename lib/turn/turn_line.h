// SPDX-License-Identifier: BSD-3-Clause
// The line of an allocation: 64 bytes that say all a relayed datagram of the usual kind needs, so
// that it goes without a plan (doc/decisions/0007-line.md).
#pragma once

#include "turn.h"

// All that a relayed datagram of the usual kind touches, one cache line, indexed by slot. The
// usual kind is ChannelData of the one channel of which the line holds a copy, either way.
// Written by the shard, but for what is the data path's: of that it only zeroes hop, when that end
// changes.
struct turn_line {
	// By leg, the ends from where datagrams come: the client, and the peer of the copy.
	struct addr end[2];
	uint32_t mark[2]; // their ports and more (turn_mark.h)
	uint32_t until; // in TURN_LINE_MS: the copy is good before this, rounded down; 0 = no copy
	// As they lie in a packet: the channel number, 0 = no copy (of a redirect the worker where
	// it leads, as it is), and the port of the relayed transport address.
	uint16_t channel, relay_port;
	uint16_t count[2]; // datagrams relayed, by leg; moved elsewhere before they can wrap
	uint32_t sums; // the data path's, made when it is told of the line
	uint32_t hop[2]; // the data path's note on the way to each end, 0 = none
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct turn_line) == 64, "one cache line");

#define TURN_LINE_MS 64

// Bytes of data in a datagram of the usual kind. leg, here and below, is the view's: a constant
// where there are only such.
static inline uint16_t turn_view_data(const struct turn_view *v, unsigned int leg)
{
	return (uint16_t)(v->len - ((leg - 1) & 4));
}

// The ChannelData header that it has, or gets, as it lies in a packet.
static inline uint32_t turn_line_front(
	const struct turn_line *l, const struct turn_view *v, unsigned int leg)
{
	return l->channel | (uint32_t)__builtin_bswap16(turn_view_data(v, leg)) << 16;
}

// Datagrams of the usual kind need no plan. True when a view of a burst that turn_route_begin has
// looked up is one: ChannelData on the channel that the line has a copy of, whole, or a datagram of
// that channel's peer. The caller then takes the ChannelData header off or puts it on, sends it to
// the line's other end and counts it with turn_line_count. tick: now_ms / TURN_LINE_MS. The caller
// sees to it that a client's datagram has CHANNEL_HEADER_LEN bytes; that many can be read of any.
static inline bool turn_line_vouches(
	const struct turn_line *l, const struct turn_view *v, unsigned int leg, uint32_t tick)
{
	// no branch on the leg: it would be mispredicted every other time
	const uint32_t only_client = leg - 1;
	uint32_t header;
	uint64_t differs;

	memcpy(&header, v->data, sizeof(header));
	differs = (l->end[leg].d[0] ^ v->src.d[0]) | (l->end[leg].d[1] ^ v->src.d[1]);
	differs |= ((l->mark[leg] ^ v->mark) & (0xffff | only_client)) |
		((header ^ turn_line_front(l, v, leg)) & only_client);
	return differs == 0 && l->channel != 0 && tick < l->until;
}

// Likewise for a line with a copy of a peer without a channel. A Send indication to it, of the
// usual kind: 36 or 48, where its data of len bytes begins; the caller sends that to the peer.
// 0: it is none.
uint16_t turn_line_send(
	const struct turn_line *l, const struct turn_view *v, uint32_t tick, uint16_t *len);
// A datagram of that peer: the front of the Data indication for the client, of 36 or 48 bytes, is
// written; the caller puts it in front and pads the datagram to 4 bytes. 0: it is none.
uint16_t turn_line_data(
	struct turn_shard *s, const struct turn_view *v, uint32_t tick, uint8_t *front);

#define TURN_LINE_SPILL 0x8000

// Moves the counts of a line where there is more room.
void turn_line_spill(struct turn_shard *s, uint32_t slot);

static inline void turn_line_count(
	struct turn_shard *s, struct turn_line *l, const struct turn_view *v, unsigned int leg)
{
	if (__builtin_expect(++l->count[leg] >= TURN_LINE_SPILL, 0))
		turn_line_spill(s, v->slot);
}
