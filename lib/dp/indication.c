// SPDX-License-Identifier: BSD-3-Clause
// Relayed indications. Nearly all go from wire to wire by the line of their allocation, as
// ChannelData does in fastpath.c: a Send indication with two attributes, and a Data indication for
// what a peer without a channel sends.
#include "indication.h"
#include "dp_view.h"
#include "fast_headers.h"
#include "net.h"
#include "stun.h"
#include "turn.h"
#include "turn_line.h"
#include "turn_mark.h"
#include "turn_meter.h"
#include "udp.h"
#include "worker.h"
#include "workers/metering.h"

// Notes by how many bytes the payload becomes shorter (from the client) or longer (from the peer).
static void change_len(struct fast_headers *p, const struct turn_view *v, unsigned int by)
{
	const uint16_t change = be16((uint16_t)by);

	if (v->leg == TURN_FROM_CLIENT) {
		p->udp_len = (uint16_t)(v->len + NET_UDP_LEN - by);
		p->udp += 2u * change; // taken from the length that stands twice under the sum
		p->ip += (uint16_t)~change;
	} else {
		p->udp_len = (uint16_t)(v->len + NET_UDP_LEN + by);
		p->udp += 2u * (uint16_t)~change;
		p->ip += change;
	}
}

// Writes the new headers, then the front, which may lie where the old headers were.
static void write_and_send(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	const struct fast_headers *p, const uint8_t *front)
{
	const struct turn_line *l = &w->lines[v->slot];
	const struct neigh_hop *hop = &w->hops[(uint16_t)l->hop[v->leg ^ 1]];
	const bool is_v4 = (v->flags & DP_IPV4) != 0;
	uint8_t *ip = is_v4 ? fast_headers_write_ip4(w, p) : fast_headers_write_ip6(p);

	fast_headers_write_udp(p);
	if (p->moved < 0)
		memcpy(p->payload + p->moved, front, (size_t)-p->moved);
	m->data_off = (uint16_t)(m->data_off + p->moved);
	m->data_len = (uint16_t)(m->data_len - v->len - NET_UDP_LEN + p->udp_len);
	m->pkt_len = m->data_len;
	m->ol_flags &= RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT;
	fast_headers_send(w, hop, m, ip, is_v4);
}

// False: the datagram is past a rate, and dropped.
static inline bool meter(
	struct worker *w, struct rte_mbuf *m, const struct turn_view *v, uint16_t len)
{
	const uint64_t cost = turn_meter_cost(1, len);

	return turn_meter_take(w->meters, v->slot, v->leg, cost) || metering_asks(w, m, v, cost);
}

static __rte_always_inline bool relay_send(struct worker *w, struct rte_mbuf *m,
	const struct turn_view *v, struct fast_headers *p, bool metered)
{
	struct turn_line *l = &w->lines[v->slot];
	uint16_t len = 0;
	const uint16_t front = turn_line_send(l, v, &len), end = front + len;

	if (unlikely(front == 0))
		return false;
	if (metered && !meter(w, m, v, len))
		return true;
	turn_line_add(l, TURN_FROM_CLIENT, len);
	p->moved = front;
	p->udp += fast_headers_sum(v->data, front, false) +
		fast_headers_sum(v->data + end, v->len - end, (end & 1) != 0);
	change_len(p, v, v->len - (unsigned int)len);
	turn_line_added(w->shard, l, v->slot, TURN_FROM_CLIENT);
	write_and_send(w, m, v, p, NULL);
	return true;
}

static __rte_always_inline bool relay_data(struct worker *w, struct rte_mbuf *m,
	const struct turn_view *v, struct fast_headers *p, bool metered)
{
	const unsigned int pad = -v->len & 3; // RFC 8489 14
	struct turn_line *l = &w->lines[v->slot];
	uint8_t front[STUN_DATA_FRONT_MAX];
	uint16_t front_len;

	// plain frames leave room for a ChannelData header
	if (m->data_len + sizeof(front) + pad > w->plain_max + (unsigned int)CHANNEL_HEADER_LEN ||
		m->data_off < sizeof(front) || pad > rte_pktmbuf_tailroom(m))
		return false;
	front_len = turn_line_data(w->shard, v, front);
	if (unlikely(front_len == 0))
		return false;
	if (metered && !meter(w, m, v, v->len))
		return true;
	turn_line_add(l, TURN_FROM_PEER, v->len);
	p->moved = -front_len;
	p->udp += (uint16_t)~fast_headers_sum(front, front_len, false);
	change_len(p, v, front_len + pad);
	memset(p->payload + v->len, 0, pad);
	turn_line_added(w->shard, l, v->slot, TURN_FROM_PEER);
	write_and_send(w, m, v, p, front);
	return true;
}

static __rte_always_inline bool relay(struct worker *w, struct rte_mbuf *m,
	const struct turn_view *v, uint32_t tick, bool metered)
{
	const struct turn_line *l = &w->lines[v->slot];
	const unsigned int leg = v->leg, to = leg ^ 1;
	const struct neigh_hop *hop = &w->hops[(uint16_t)l->hop[to]];
	const struct source *src = &w->source[leg][turn_mark_from(l->mark[to])];
	const uint32_t sums = leg == TURN_FROM_CLIENT ? l->sums : ~l->sums;
	uint8_t *payload = (uint8_t *)(uintptr_t)v->data;
	struct fast_headers p;

	// in this order: src may lie outside its array if the line is no allocation's
	if (!turn_line_vouches_peer(l, v, leg, tick) || hop->serial != l->hop[to] >> 16 ||
		(v->flags & (DP_PLAIN | DP_IPV4)) != src->flags)
		return false;
	p = fast_headers_from_line(l, src, payload, leg);
	p.udp = (uint32_t)udp_load16(payload - 2) + (uint16_t)sums;
	p.ip = sums >> 16;
	return leg == TURN_FROM_CLIENT ? relay_send(w, m, v, &p, metered)
				       : relay_data(w, m, v, &p, metered);
}

bool indication_relay(
	struct worker *w, struct rte_mbuf *m, const struct turn_view *v, uint32_t tick)
{
	return relay(w, m, v, tick, false);
}

bool indication_relay_metered(
	struct worker *w, struct rte_mbuf *m, const struct turn_view *v, uint32_t tick)
{
	return relay(w, m, v, tick, true);
}
