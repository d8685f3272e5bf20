// SPDX-License-Identifier: BSD-3-Clause
// The line of an allocation: 64 bytes with everything that a relayed datagram of the usual kind
// needs, so that it can be relayed without a plan (doc/decisions/0007-line.md).
#pragma once

#include "hash.h"
#include "stun_usual.h"
#include "turn.h"

// The transaction IDs of a shard's indications; its lcore only. Nobody answers an indication, so an
// ID must only be new and unpredictable (RFC 8489 section 5): it is a keyed hash of a counter.
struct turn_tids {
	struct hash_key key;
	uint64_t made; // number of IDs made
};

// Writes an ID; its first 12 bytes count.
static inline void turn_tids_next(struct turn_tids *t, uint8_t tid[16])
{
	const struct addr count = {.d = {++t->made, 0}};

	hash_addr_wide(&t->key, &count, 0, tid);
}

// The line: one cache line, indexed by slot; relaying a datagram of the usual kind touches nothing
// else. The usual kind is ChannelData of the one channel that the line holds a copy of, in either
// direction. The shard writes the line, except the data path's fields; the shard only zeroes hop,
// when that end changes.
struct turn_line {
	// The ends that send datagrams, by leg: the client, and the peer of the copy.
	struct addr end[2];
	uint32_t mark[2]; // their ports and more (turn_mark.h)
	union {
		uint64_t counts; // datagrams and bytes relayed, by leg: see turn_line_add
		struct {
			uint8_t counts_[6];
			// The copy is valid before this time: the low half of a tick, rounded down.
			// 0 = no copy; channel is 0 then, too.
			uint16_t until;
		};
	};
	// In network byte order: the channel number (0 = the copy has no channel), and the port of
	// the relayed transport address. In a redirect, channel is the worker to which it leads, in
	// host order.
	uint16_t channel, relay_port;
	uint32_t sums; // the data path's; it computes them when line_made reports the line
	uint32_t hop[2]; // the data path's note of the next hop to each end, 0 = no note
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct turn_line) == 64, "one cache line");

#define TURN_LINE_MS 64 // a tick
// Maximum number of ticks until `until`; a later time would seem to have passed.
#define TURN_LINE_AHEAD INT16_MAX

// True if the line's copy has not expired. tick is now_ms / TURN_LINE_MS.
static inline bool turn_line_good(const struct turn_line *l, uint32_t tick)
{
	return (int16_t)(tick - l->until) < 0;
}

// Bytes of data in a datagram of the usual kind, without the ChannelData header. leg, here and
// below, is v->leg; callers whose views all have one leg pass a constant.
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

// True if a view that turn_route_begin has looked up is of the usual kind and needs no plan: a
// whole ChannelData message on the channel of the line's copy, or a datagram of that channel's
// peer. If true, the caller removes or adds the ChannelData header, sends the datagram to the
// line's other end and counts it with turn_line_add. The caller ensures that a client's datagram
// has CHANNEL_HEADER_LEN bytes, and that this many bytes of any datagram are readable.
static inline bool turn_line_vouches(
	const struct turn_line *l, const struct turn_view *v, unsigned int leg, uint32_t tick)
{
	// no branch on the leg: every other one would be mispredicted
	const uint32_t only_client = leg - 1;
	uint32_t header, differs;

	memcpy(&header, v->data, sizeof(header));
	differs = (l->mark[leg] ^ v->mark) | ((header ^ turn_line_front(l, v, leg)) & only_client);
	return l->channel != 0 && turn_line_good(l, tick) && differs == 0 &&
		addr_eq_stored(&l->end[leg], &v->src);
}

// Like turn_line_vouches(), for a line with a copy of a peer without a channel. True: datagrams of
// the usual form from this end need no plan, and the next functions check the form.
static inline bool turn_line_vouches_peer(
	const struct turn_line *l, const struct turn_view *v, unsigned int leg, uint32_t tick)
{
	return l->channel == 0 && l->until != 0 && turn_line_good(l, tick) &&
		l->mark[leg] == v->mark && addr_eq_stored(&l->end[leg], &v->src);
}

// The peer of the line's copy; is_v4 is its family.
static inline struct stun_usual_peer turn_line_peer(const struct turn_line *l, bool is_v4)
{
	return (struct stun_usual_peer){
		&l->end[TURN_FROM_PEER], turn_mark_port(l->mark[TURN_FROM_PEER]), is_v4};
}

// True if the client's message is a Send indication of the usual form; the line vouches. Its data
// begins at offset 36 (is_v4: the peer has an IPv4 address) or 48, and is *len bytes long; the
// caller sends it to the peer and counts it. If false, the message needs a plan.
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

// The front of the Data indication for a peer's datagram that fits; the line vouches. The caller
// prepends it, pads the datagram to 4 bytes with zeros and counts the datagram.
static inline __attribute__((always_inline)) struct stun_usual_front turn_line_data(
	struct turn_tids *t, const struct turn_line *l, const struct turn_view *v, bool is_v4)
{
	uint8_t tid[16];

	turn_tids_next(t, tid);
	return stun_usual_data(tid, turn_line_peer(l, is_v4), v->len);
}

// Each leg has 24 bits of counts: bytes of data in the lower ones, datagrams above. The top bit of
// each count is spare: when it is set, turn_line_spill moves it to the allocation's usage record,
// before the next datagram. So no carry ever reaches the neighbouring field.
#define TURN_LEG_BITS 24
#define TURN_BYTES_BITS 17
#define TURN_SPILL_BYTES (UINT32_C(1) << (TURN_BYTES_BITS - 1))
#define TURN_SPILL_DATAGRAMS (UINT32_C(1) << (TURN_LEG_BITS - 1 - TURN_BYTES_BITS))

void turn_line_spill(struct turn_shard *s, uint32_t slot, unsigned int leg);

// Counts a datagram that is relayed by its line, with at most 65535 bytes of data. The caller then
// calls turn_line_added, before it counts anything else.
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
