// SPDX-License-Identifier: BSD-3-Clause
// The line of an allocation: 64 bytes with all that a relayed datagram of the usual kind needs, so
// that it can be relayed without a plan (doc/decisions/0007-line.md).
#pragma once

#include "stun_usual.h"
#include "turn.h"
#include "turn_tids.h"

// All that a relayed datagram of the usual kind touches: one cache line, indexed by slot. The usual
// kind is ChannelData of the one channel that the line holds a copy of, in either direction. The
// shard writes the line, except the data path's fields; of those it only zeroes hop, when that end
// changes.
struct turn_line {
	// The ends that datagrams come from, by leg: the client, and the peer of the copy.
	struct addr end[2];
	uint32_t mark[2]; // their ports and more (turn_mark.h)
	union {
		uint64_t counts; // what was relayed, by leg: see turn_line_add
		struct {
			uint8_t counts_[6];
			// The copy is good before it: the low half of a tick, rounded down. 0 = no
			// copy, and then channel is 0 too.
			uint16_t until;
		};
	};
	// In network byte order: the channel number (0 = the copy is of no channel), and the port
	// of the relayed transport address. For a redirect, channel is the worker where it leads,
	// in host order.
	uint16_t channel, relay_port;
	uint32_t sums; // the data path's, which makes them when line_made tells it of the line
	uint32_t hop[2]; // the data path's note on the way to each end, 0 = none
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct turn_line) == 64, "one cache line");

#define TURN_LINE_MS 64 // a tick
// Ticks that until may lie ahead, at most; beyond that it would be taken for one that has passed.
#define TURN_LINE_AHEAD INT16_MAX

// Whether a copy that the line has is still good. tick is now_ms / TURN_LINE_MS.
static inline bool turn_line_good(const struct turn_line *l, uint32_t tick)
{
	return (int16_t)(tick - l->until) < 0;
}

// Bytes of data in a datagram of the usual kind, without the ChannelData header. leg, here and
// below, is v->leg; callers that have views of one leg only pass a constant.
static inline uint16_t turn_view_data(const struct turn_view *v, unsigned int leg)
{
	return (uint16_t)(v->len - ((leg - 1) & 4));
}

// The ChannelData header that such a datagram has (from the client) or gets (from the peer), in
// network byte order.
static inline uint32_t turn_line_front(
	const struct turn_line *l, const struct turn_view *v, unsigned int leg)
{
	return l->channel | (uint32_t)__builtin_bswap16(turn_view_data(v, leg)) << 16;
}

// Whether a view that turn_route_begin has looked up is of the usual kind and needs no plan: a
// whole ChannelData message on the channel that the line has a copy of, or a datagram of that
// channel's peer. If true, the caller takes the ChannelData header off or puts it on, sends the
// datagram to the line's other end and counts it with turn_line_add. The caller makes sure that a
// client's datagram has CHANNEL_HEADER_LEN bytes, and that so many bytes can be read of any
// datagram.
static inline bool turn_line_vouches(
	const struct turn_line *l, const struct turn_view *v, unsigned int leg, uint32_t tick)
{
	// no branch on the leg: it would be mispredicted every other time
	const uint32_t only_client = leg - 1;
	uint32_t header, differs;

	memcpy(&header, v->data, sizeof(header));
	differs = (l->mark[leg] ^ v->mark) | ((header ^ turn_line_front(l, v, leg)) & only_client);
	return l->channel != 0 && turn_line_good(l, tick) && differs == 0 &&
		addr_eq_stored(&l->end[leg], &v->src);
}

// The same for a line that has a copy of a peer without a channel. True: what the end sends in the
// usual form needs no plan, and the next functions tell whether it has that form.
static inline bool turn_line_vouches_peer(
	const struct turn_line *l, const struct turn_view *v, unsigned int leg, uint32_t tick)
{
	return l->channel == 0 && l->until != 0 && turn_line_good(l, tick) &&
		l->mark[leg] == v->mark && addr_eq_stored(&l->end[leg], &v->src);
}

// The peer that the line has a copy of; is_v4 is its family.
static inline struct stun_usual_peer turn_line_peer(const struct turn_line *l, bool is_v4)
{
	return (struct stun_usual_peer){
		&l->end[TURN_FROM_PEER], turn_mark_port(l->mark[TURN_FROM_PEER]), is_v4};
}

// Whether the client's message is a Send indication of the usual form, by a line that vouches. Its
// data begins behind 36 bytes (is_v4: the peer is of IPv4) or 48, and is *len bytes long; the
// caller sends that to the peer and counts it. If not, it needs a plan.
static inline __attribute__((always_inline)) bool turn_line_send(
	const struct turn_line *l, const struct turn_view *v, bool is_v4, uint32_t *len)
{
	return stun_usual_send(v->data, v->len, turn_line_peer(l, is_v4), len);
}

// Longest datagram that fits a Data indication, whose 16-bit length field counts attributes and
// padding.
#define TURN_DATA_MAX (UINT16_MAX - 64)

static inline bool turn_line_data_fits(const struct turn_view *v)
{
	return v->len <= TURN_DATA_MAX;
}

// For a datagram of the peer that fits, by a line that vouches: the front of the Data indication
// for the client. The caller puts it in front, pads the datagram to 4 bytes with zeros and counts
// it.
static inline __attribute__((always_inline)) struct stun_usual_front turn_line_data(
	struct turn_tids *t, const struct turn_line *l, const struct turn_view *v, bool is_v4)
{
	uint8_t tid[16];

	turn_tids_next(t, tid);
	return stun_usual_data(tid, turn_line_peer(l, is_v4), v->len);
}

// Each leg has 24 bits of counts: bytes of data in the lower ones, datagrams above. The top bit of
// both is free: when one is set, turn_line_spill moves it to the allocation's usage record, before
// the next datagram. So nothing is ever carried into what lies beside it.
#define TURN_LEG_BITS 24
#define TURN_BYTES_BITS 17
#define TURN_SPILL_BYTES (UINT32_C(1) << (TURN_BYTES_BITS - 1))
#define TURN_SPILL_DATAGRAMS (UINT32_C(1) << (TURN_LEG_BITS - 1 - TURN_BYTES_BITS))

void turn_line_spill(struct turn_shard *s, uint32_t slot, unsigned int leg);

// Counts a datagram with so many bytes of data, 65535 at most, that is relayed by its line. The
// caller calls turn_line_added behind it, before anything else is counted.
static inline void turn_line_add(struct turn_line *l, unsigned int leg, uint32_t bytes)
{
	l->counts += (uint64_t)(bytes + (1u << TURN_BYTES_BITS)) << TURN_LEG_BITS * leg;
}

static inline void turn_line_added(
	struct turn_shard *s, const struct turn_line *l, uint32_t slot, unsigned int leg)
{
	// the third byte of the leg has both top bits
	if (__builtin_expect((l->counts_[3 * leg + 2] & 0x81) != 0, 0))
		turn_line_spill(s, slot, leg);
}
