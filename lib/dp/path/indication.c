// SPDX-License-Identifier: BSD-3-Clause
// Relays indications. Nearly all are relayed by the line of their allocation, like ChannelData in
// fastpath.c: Send indications with the two usual attributes, and Data indications for datagrams of
// a peer without a channel.
#include "path/indication.h"
#include "dp_view.h"
#include "path/fast_headers.h"
#include "net.h"
#include "stun.h"
#include "stun_usual.h"
#include "turn.h"
#include "turn_line.h"
#include "turn_mark.h"
#include "udp.h"
#include "path/meter.h"
#include "path/worker.h"

// How a datagram is relayed: compile-time constants.
struct relaying {
	bool is_v4, metered;
};

// Adjusts the checksums for the payload that becomes shorter (from the client) or longer (from the
// peer) by delta bytes.
static __rte_always_inline void change_len(
	struct fast_headers *p, const struct turn_view *v, unsigned int leg, unsigned int delta)
{
	const uint16_t change = to_be16((uint16_t)delta);

	if (leg == TURN_FROM_CLIENT) {
		p->udp_len = (uint16_t)(v->len + NET_UDP_LEN - delta);
		p->udp += 2u * change; // the length is in the sum twice
		p->ip += (uint16_t)~change;
	} else {
		p->udp_len = (uint16_t)(v->len + NET_UDP_LEN + delta);
		p->udp += 2u * (uint16_t)~change;
		p->ip += change;
	}
}

static __rte_always_inline uint8_t *write_ip(
	struct worker *w, const struct fast_headers *p, bool is_v4)
{
	return is_v4 ? fast_headers_write_ip4(w, p) : fast_headers_write_ip6(p);
}

static __rte_always_inline void resize_frame(
	struct rte_mbuf *m, const struct turn_view *v, const struct fast_headers *p)
{
	m->data_off = (uint16_t)(m->data_off + p->moved);
	m->data_len = (uint16_t)(m->data_len - v->len - NET_UDP_LEN + p->udp_len);
	m->pkt_len = m->data_len;
	m->ol_flags &= RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT;
}

// Headers for a datagram that is relayed by a line, without the fields that depend on a length.
static __rte_always_inline struct fast_headers line_headers(const struct worker *w,
	const struct turn_line *l, const struct turn_view *v, unsigned int leg)
{
	const struct source *src = &w->source[leg][turn_mark_from(l->mark[leg ^ 1])];
	const uint32_t sums = leg == TURN_FROM_CLIENT ? l->sums : ~l->sums;
	uint8_t *payload = (uint8_t *)(uintptr_t)v->data;
	struct fast_headers p = fast_headers_from_line(l, src, payload, leg);

	p.udp = (uint32_t)load_raw16(payload - 2) + (uint16_t)sums;
	p.ip = sums >> 16;
	return p;
}

// Sum of the first 36 or 48 bytes.
static __rte_always_inline uint16_t sum_front(const uint8_t *p, bool is_v4)
{
	const uint64_t sum = udp_sum32(0, p);

	return is_v4 ? udp_fold(udp_add(sum, load_raw32(p + 32)))
		     : udp_fold(udp_add(udp_add(sum, load_raw64(p + 32)), load_raw64(p + 40)));
}

static __rte_always_inline bool relay_send(struct worker *w, struct rte_mbuf *m,
	const struct turn_view *v, const struct neigh_hop *hop, struct relaying r)
{
	const uint32_t front = r.is_v4 ? STUN_FRONT4 : STUN_FRONT6;
	struct turn_line *l = &w->lines[v->slot];
	struct fast_headers p;
	uint32_t len, removed;
	uint8_t *ip;

	if (unlikely(!turn_line_send(l, v, r.is_v4, &len)))
		return false;
	if (r.metered && !meter_pay(w, m, v, TURN_FROM_CLIENT, len))
		return true;
	turn_line_add(l, TURN_FROM_CLIENT, len);
	removed = v->len - len;
	p = line_headers(w, l, v, TURN_FROM_CLIENT);
	p.moved = (int)front;
	p.udp += sum_front(v->data, r.is_v4);
	if (removed != front) // padding, which may have any value
		p.udp += fast_headers_sum(v->data + front + len, removed - front, (len & 1) != 0);
	change_len(&p, v, TURN_FROM_CLIENT, removed);
	ip = write_ip(w, &p, r.is_v4);
	fast_headers_write_udp(&p);
	resize_frame(m, v, &p);
	fast_headers_send(w, hop, m, ip, r.is_v4);
	turn_line_added(w->shard, l, v->slot, TURN_FROM_CLIENT);
	return true;
}

static __rte_always_inline uint16_t sum_data(const struct stun_usual_front *f, bool is_v4)
{
	const uint64_t ends = f->tid_end | (uint64_t)f->data << 32;
	const uint64_t sum = udp_sum4(f->head, f->tid, f->peer, ends);

	return udp_fold(
		is_v4 ? udp_add(sum, f->addr[0]) : udp_add(udp_add(sum, f->addr[0]), f->addr[1]));
}

// Appends zeros to the payload up to a multiple of 4 bytes. There is room for them.
static inline void pad_out(uint8_t *payload, uint32_t len)
{
	uint8_t *last = payload + (len & ~3u);
	const uint32_t kept = load_raw32(last) & ((1u << 8 * (len & 3)) - 1);

	memcpy(last, &kept, 4);
}

static __rte_always_inline bool relay_data(struct worker *w, struct rte_mbuf *m,
	const struct turn_view *v, const struct neigh_hop *hop, struct relaying r)
{
	const uint32_t front_len = r.is_v4 ? STUN_FRONT4 : STUN_FRONT6;
	const uint32_t pad = -v->len & 3; // RFC 8489 14
	struct turn_line *l = &w->lines[v->slot];
	struct stun_usual_front front;
	struct fast_headers p;
	uint8_t *ip;

	// plain frames have room for a ChannelData header
	if (unlikely(!turn_line_data_fits(v) ||
		    m->data_len + STUN_FRONT6 + pad > w->plain_max + (uint32_t)CHANNEL_HEADER_LEN ||
		    m->data_off < STUN_FRONT6 || (pad != 0 && pad > rte_pktmbuf_tailroom(m))))
		return false;
	if (r.metered && !meter_pay(w, m, v, TURN_FROM_PEER, v->len))
		return true;
	turn_line_add(l, TURN_FROM_PEER, v->len);
	p = line_headers(w, l, v, TURN_FROM_PEER);
	p.moved = -(int)front_len;
	change_len(&p, v, TURN_FROM_PEER, front_len + pad);
	ip = write_ip(w, &p, r.is_v4);
	// only now: it may overlap the old headers
	front = turn_line_data(w->tids, l, v, r.is_v4);
	p.udp += (uint16_t)~sum_data(&front, r.is_v4);
	stun_usual_write(&front, r.is_v4, p.payload);
	fast_headers_write_udp(&p);
	if (pad != 0)
		pad_out(p.payload, v->len);
	resize_frame(m, v, &p);
	fast_headers_send(w, hop, m, ip, r.is_v4);
	turn_line_added(w->shard, l, v->slot, TURN_FROM_PEER);
	return true;
}

static __rte_always_inline bool relay_datagram(struct worker *w, struct rte_mbuf *m,
	const struct turn_view *v, unsigned int leg, struct relaying r)
{
	const struct turn_line *l = &w->lines[v->slot];
	const struct neigh_hop *hop = neigh_note_hop(w->hops, l->hop[leg ^ 1]);

	return leg == TURN_FROM_CLIENT ? relay_send(w, m, v, hop, r) : relay_data(w, m, v, hop, r);
}

// Relays a datagram if the line that was found for it vouches. leg and metered are constants.
static __rte_always_inline bool relay_line(struct worker *w, struct rte_mbuf *m,
	const struct turn_view *v, unsigned int leg, uint32_t tick, bool metered)
{
	const unsigned int out_leg = leg ^ 1;
	const struct turn_line *l = &w->lines[v->slot];
	const struct neigh_hop *hop = neigh_note_hop(w->hops, l->hop[out_leg]);
	const struct source *src = &w->source[leg][turn_mark_from(l->mark[out_leg])];

	// in this order: src may be outside its array if the line belongs to no allocation
	if (unlikely(!turn_line_vouches_peer(l, v, leg, tick) ||
		    !neigh_note_holds(hop, l->hop[out_leg]) ||
		    (v->flags & (DP_PLAIN | DP_IPV4)) != src->flags))
		return false;
	if (likely((v->flags & DP_IPV4) != 0))
		return relay_datagram(w, m, v, leg, (struct relaying){true, metered});
	return relay_datagram(w, m, v, leg, (struct relaying){false, metered});
}

static __rte_always_inline unsigned int relay_leg(
	struct worker *w, unsigned int leg, unsigned int start, unsigned int stop, uint32_t tick)
{
	const struct turn_burst *b = &w->burst.turn;
	const uint8_t *pos = b->by_leg[leg] + start, *const end = b->by_leg[leg] + stop;

	for (; pos < end; pos++) {
		const struct turn_view *v = &b->view[*pos];

		__asm__("" : "+r"(v)); // one address, or gcc sometimes computes one more
		if (unlikely(v->slot == TURN_NONE) ||
			unlikely(!relay_line(w, w->burst.m[*pos], v, leg, tick, false)))
			break;
	}
	return (unsigned int)(pos - b->by_leg[leg]);
}

static __rte_noinline unsigned int relay_clients(
	struct worker *w, unsigned int start, unsigned int stop, uint32_t tick)
{
	return relay_leg(w, TURN_FROM_CLIENT, start, stop, tick);
}

static __rte_noinline unsigned int relay_peers(
	struct worker *w, unsigned int start, unsigned int stop, uint32_t tick)
{
	return relay_leg(w, TURN_FROM_PEER, start, stop, tick);
}

unsigned int indication_relay_leg(
	struct worker *w, unsigned int leg, unsigned int start, unsigned int stop, uint32_t tick)
{
	return leg == TURN_FROM_CLIENT ? relay_clients(w, start, stop, tick)
				       : relay_peers(w, start, stop, tick);
}

bool indication_relay_metered(
	struct worker *w, struct rte_mbuf *m, const struct turn_view *v, uint32_t tick)
{
	return v->leg == TURN_FROM_CLIENT ? relay_line(w, m, v, TURN_FROM_CLIENT, tick, true)
					  : relay_line(w, m, v, TURN_FROM_PEER, tick, true);
}
