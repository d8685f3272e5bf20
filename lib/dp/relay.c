// SPDX-License-Identifier: BSD-3-Clause
// The relayed datagram that nearly every one is: from wire to wire, one family, a ChannelData
// header taken off or put on, everything at hand in the line of its allocation. Its new headers are
// written straight from there. Anything else is rewrite.c's.
#include <errno.h>
#include <stdlib.h>

#include "bytes.h"
#include "dp_int.h"

// --- what headers are made of -------------------------------------------------------------------

static struct source source_of(const struct addr *a, uint16_t port)
{
	const bool is_v4 = addr_is_v4(a);

	return (struct source){.addr = *a,
		.sum = udp_fold(is_v4 ? a->w[3] : udp_add(a->d[0], a->d[1])),
		.port = __builtin_bswap16(port),
		.flags = is_v4 ? DP_PLAIN | DP_IPV4 : DP_PLAIN};
}

int relay_sources_create(struct dp *d)
{
	const struct turn_config *c = &d->conf->turn;
	struct source *relays = calloc(c->nb_relay + 1, sizeof(*relays));
	struct source *listeners = calloc(TURN_LINE_LISTENER(c->nb_listeners), sizeof(*listeners));

	d->source[TURN_FROM_CLIENT] = relays;
	d->source[TURN_FROM_PEER] = listeners;
	if (relays == NULL || listeners == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < c->nb_relay; i++)
		relays[i] = source_of(&c->relay[i], 0);
	for (uint32_t i = 0; i < c->nb_listeners; i++)
		listeners[TURN_LINE_LISTENER(i)] =
			source_of(&c->listeners[i].at.addr, c->listeners[i].at.port);
	for (uint32_t i = 0; i < c->nb_listeners; i++)
		if (turn_listener_is_stream(&c->listeners[i]))
			listeners[TURN_LINE_LISTENER(i)].flags = SOURCE_STREAM;
	return 0;
}

const struct source *relay_listener_source(const struct worker *w, uint8_t listener)
{
	return &w->source[TURN_FROM_PEER][TURN_LINE_LISTENER(listener)];
}

void relay_sources_free(struct dp *d)
{
	free(d->source[0]);
	free(d->source[1]);
}

void relay_wires_init(struct worker *w)
{
	uint32_t mtu = UINT16_MAX;

	memcpy(w->source, w->dp->source, sizeof(w->source));
	for (unsigned int p = 0; p < w->dp->nb_ports; p++) {
		const struct dp_port *port = &w->dp->port[p];
		uint8_t tail[8];

		memcpy(tail, port->l2.src, 6);
		for (unsigned int is_v4 = 0; is_v4 < 2; is_v4++) {
			store_be16(tail + 6, is_v4 ? 0x0800 : 0x86dd);
			memcpy(&w->wire[p].tail[is_v4], tail, sizeof(tail));
		}
		// tagged frames, and those for another worker's queue, are rewrite.c's and tx.c's
		if (port->l2.vlan != 0 || w->id >= port->port->nb_txq)
			return;
		mtu = RTE_MIN(mtu, port->port->mtu);
	}
	w->plain_max = (uint16_t)(mtu + NET_ETH_LEN - CHANNEL_HEADER_LEN);
}

// --- one datagram -------------------------------------------------------------------------------

// A 16-bit value as it lies in memory.
static inline uint16_t be16(uint16_t v)
{
	return __builtin_bswap16(v);
}

// A frame to be made of another, in place, as a ChannelData header goes off or on. Words as they
// lie in memory.
struct plain {
	const struct source *src;
	const struct addr *dst;
	uint8_t *payload; // as it was
	int moved; // where it begins, by how much later
	int shorter; // by how much
	uint16_t longer; // change of a length field
	uint64_t old_udp, udp; // the UDP headers that there was and will be, but for the checksum
	uint64_t sum; // change under the UDP checksum but for addresses and UDP header
};

// All of the old headers has been read by now. The checksum is the complement of a sum folded, here
// the fold of the complement: the same, but 0xffff for 0 as UDP wants it. (For the one sum that is
// all ones it is 0. A sender may choose its bytes so, and spoils its own datagram.)
static inline void write_udp(const struct plain *p, uint64_t change)
{
	const uint64_t sum = udp_sum4(p->sum, change, ~p->old_udp, p->udp);
	const uint64_t whole = p->udp | (uint64_t)udp_fold(~sum) << 48;

	memcpy(p->payload + p->moved - NET_UDP_LEN, &whole, 8);
}

// Headers of IPv4 and UDP; returns the first byte. The identification stays when DF is set: it
// means nothing then (RFC 6864 section 4).
static inline uint8_t *write_ip4(struct worker *w, const struct plain *p)
{
	const uint8_t *old = p->payload - NET_UDP_LEN - NET_IP4_LEN;
	const uint64_t ends = p->src->addr.w[3] | (uint64_t)p->dst->w[3] << 32;
	const uint64_t change = udp_add(ends, ~udp_load64(old + 12));
	uint64_t first = __builtin_bswap64(udp_load64(old)) - ((uint64_t)(int64_t)p->shorter << 32);
	uint32_t third = udp_load32(old + 8) - 1; // a hop less
	uint64_t sum = (uint64_t)p->longer + 0xfffe + (~third >> 16);
	uint8_t *ip = p->payload + p->moved - NET_UDP_LEN - NET_IP4_LEN;

	if (unlikely((first & 0x4000) == 0)) {
		const uint16_t id = rewrite_ip_id(w);

		sum += be16(id) + (uint64_t)(uint16_t)~be16((uint16_t)(first >> 16));
		first = (first & ~UINT64_C(0xffff0000)) | (uint64_t)id << 16;
	}
	first = __builtin_bswap64(first);
	third = (third & 0xffff) | ~(uint32_t)udp_fold(udp_add(change, sum)) << 16;
	write_udp(p, change);
	memcpy(ip, &first, 8);
	memcpy(ip + 8, &third, 4);
	memcpy(ip + 12, &ends, 8);
	return ip;
}

static inline uint8_t *write_ip6(const struct plain *p)
{
	const uint8_t *old = p->payload - NET_UDP_LEN - NET_IP6_LEN;
	const uint64_t first =
		(udp_load32(old) & 0x0000f0ff) | // no flow label: its flow is another
		(p->udp & UINT64_C(0xffff00000000)) | (uint64_t)17 << 48 |
		(uint64_t)(uint8_t)(old[7] - 1) << 56;
	const struct addr dst = *p->dst;
	uint8_t *ip = p->payload + p->moved - NET_UDP_LEN - NET_IP6_LEN;
	const uint64_t sum = udp_sum4(
		p->src->sum, ~udp_load64(old + 8), ~udp_load64(old + 16), ~udp_load64(old + 24));

	write_udp(p, udp_sum4(sum, ~udp_load64(old + 32), dst.d[0], dst.d[1]));
	memcpy(ip, &first, 8);
	memcpy(ip + 8, &p->src->addr, 16);
	memcpy(ip + 24, &dst, 16);
	return ip;
}

static inline void send_plain(struct worker *w, const struct neigh_hop *hop, struct rte_mbuf *m,
	uint8_t *ip, const bool is_v4)
{
	struct outbox *o = &w->tx[hop->port];

	memcpy(ip - NET_ETH_LEN, hop, 8);
	memcpy(ip - NET_ETH_LEN + 6, &w->wire[hop->port].tail[is_v4], 8);
	if (unlikely(o->n == DP_BURST - 1))
		tx_put(w, hop->port, m); // it is full then, and goes
	else
		o->m[o->n++] = m;
}

// Sum of bytes as they lie in memory; behind an odd number of others they have changed places.
static inline uint16_t sum_of(const uint8_t *p, size_t len, bool odd)
{
	uint16_t sum;

	if (len < 8)
		sum = len > 0 ? be16(csum_fold(csum_add(0, p, len))) : 0;
	else
		sum = udp_fold(udp_sum(0, p, len));
	return odd ? be16(sum) : sum;
}

bool relay_plain(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	const struct rewrite *r, uint16_t neigh)
{
	const struct neigh_hop *hop = &w->hops[neigh];
	const bool is_v4 = (v->flags & DP_IPV4) != 0;
	const uint16_t headers = NET_UDP_LEN + (is_v4 ? NET_IP4_LEN : NET_IP6_LEN);
	const uint16_t end = (uint16_t)(r->off + r->len), len = r->front_len + r->len + r->pad;
	const struct source src = source_of(&r->src->addr, r->src->port);
	uint8_t *data = (uint8_t *)(uintptr_t)v->data, *front = data + r->off - r->front_len, *ip;
	struct plain p = {.src = &src,
		.dst = &r->dst->addr,
		.payload = data,
		.moved = r->off - r->front_len,
		.shorter = v->len - len,
		.old_udp = udp_load64(data - NET_UDP_LEN),
		.udp = src.port | (uint32_t)be16(r->dst->port) << 16 |
			(uint64_t)be16((uint16_t)(len + NET_UDP_LEN)) << 32};

	if ((v->flags & (DP_PLAIN | DP_IPV4)) != src.flags || hop->serial == NEIGH_NO_SERIAL ||
		w->plain_max == 0 || ((r->off | r->front_len) & 1) != 0 ||
		len + (uint32_t)headers > r->mtu || (is_v4 && r->df && (data[-22] & 0x40) == 0) ||
		(int)m->data_off + p.moved < 0 || r->pad > rte_pktmbuf_tailroom(m))
		return false;
	p.longer =
		p.shorter > 0 ? (uint16_t)~be16((uint16_t)p.shorter) : be16((uint16_t)-p.shorter);
	p.sum = (uint64_t)p.longer + (uint16_t)~sum_of(data, r->off, false) +
		(uint16_t)~sum_of(data + end, (size_t)v->len - end, (end & 1) != 0) +
		sum_of(r->front, r->front_len, false);
	memset(data + end, 0, r->pad);
	ip = is_v4 ? write_ip4(w, &p) : write_ip6(&p);
	memcpy(front, r->front, r->front_len);
	m->data_off = (uint16_t)(m->data_off + p.moved);
	m->data_len = (uint16_t)(NET_ETH_LEN + headers + len);
	m->pkt_len = m->data_len;
	m->ol_flags &= RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT;
	send_plain(w, hop, m, ip, is_v4);
	return true;
}

// Relays a datagram for which its line vouches. False: something about it or its way is unusual,
// and nothing has been touched.
static inline bool relay_line(
	struct worker *w, struct rte_mbuf *m, const struct turn_view *v, const struct turn_line *l)
{
	const unsigned int leg = v->leg, to = leg ^ 1;
	const uint32_t note = l->hop[to], mark = l->mark[to];
	const struct neigh_hop *hop = &w->hops[(uint16_t)note];
	const struct source *src = &w->source[leg][mark >> 16];
	const uint32_t off = leg - 1; // all ones where the header goes off
	const int moved = (int)(off & 2 * CHANNEL_HEADER_LEN) - CHANNEL_HEADER_LEN;
	const uint16_t len = (uint16_t)(v->len - (off & CHANNEL_HEADER_LEN));
	const uint32_t front = l->channel | (uint32_t)be16(len) << 16;
	const uint16_t udp_len = (uint16_t)(v->len + NET_UDP_LEN - moved);
	const uint32_t sport = (l->relay_port & off) | src->port; // a relay address has none
	uint8_t *data = (uint8_t *)(uintptr_t)v->data;
	const struct plain p = {.src = src,
		.dst = &l->end[to],
		.payload = data,
		.moved = moved,
		.shorter = moved,
		.longer = (uint16_t)(off ^ CHANNEL_HEADER_LEN << 8), // its complement where off
		.old_udp = udp_load64(data - NET_UDP_LEN),
		.udp = sport | (uint32_t)be16((uint16_t)mark) << 16 | (uint64_t)be16(udp_len) << 32,
		.sum = (front ^ off) + (uint64_t)(uint16_t)(off ^ CHANNEL_HEADER_LEN << 8)};

	if (unlikely((v->flags & (DP_PLAIN | DP_IPV4)) != src->flags || hop->serial != note >> 16))
		return false;
	// where it goes off, the new headers are written over this
	memcpy(data - CHANNEL_HEADER_LEN, &front, CHANNEL_HEADER_LEN);
	m->data_off = (uint16_t)(m->data_off + moved);
	m->data_len = (uint16_t)(m->data_len - moved);
	m->pkt_len -= (uint32_t)moved;
	m->ol_flags &= RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT;
	if (likely((src->flags & DP_IPV4) != 0))
		send_plain(w, hop, m, write_ip4(w, &p), true);
	else
		send_plain(w, hop, m, write_ip6(&p), false);
	return true;
}

// Any other datagram, by its plan, when it may not wait or need not. True: it was relayed.
static bool relay_planned(struct worker *w, unsigned int i, bool may_wait)
{
	struct burst *b = &w->burst;
	struct turn_view *v = &b->turn.view[i];

	if ((v->flags & DP_UNJUDGED) != 0 && !accept_again(w, i))
		return false;
	if (may_wait && backlog_concerns(w, v) && backlog_take(w, b->m[i], v))
		return false;
	turn_route_finish(w->shard, &b->turn, i);
	rewrite_plan(w, b->m[i], v, &b->turn.plan, &b->turn.side);
	return b->turn.plan.verdict == TURN_RELAY || b->turn.plan.verdict == TURN_SEND;
}

// True when a datagram waits behind a request of its client.
static bool follows(struct worker *w, struct rte_mbuf *m, const struct turn_view *v)
{
	return v->leg == TURN_FROM_CLIENT && !view_is_request(v) && backlog_take(w, m, v);
}

// Relays packet i of the burst if the line that was found for it vouches.
static inline bool relay_vouched(
	struct worker *w, unsigned int i, const struct turn_view *v, uint32_t tick)
{
	struct turn_line *l;

	if (unlikely(v->slot == TURN_NONE || v->len < CHANNEL_HEADER_LEN))
		return false;
	l = &w->lines[v->slot];
	if (unlikely(!turn_line_vouches(l, v, tick) || !relay_line(w, w->burst.m[i], v, l)))
		return false;
	turn_line_count(w->shard, l, v);
	return true;
}

unsigned int relay_burst(struct worker *w, bool may_wait)
{
	const uint32_t tick = (uint32_t)(w->now_ms / TURN_LINE_MS);
	const struct turn_view *v = w->burst.turn.view;
	const unsigned int n = w->burst.n;
	unsigned int relayed = n;
	bool waiting = may_wait && w->backlog.n > 0;

	for (unsigned int i = 0; i < n; i++, v++) {
		if (unlikely(waiting) && follows(w, w->burst.m[i], v)) {
			relayed--;
		} else if (unlikely(!relay_vouched(w, i, v, tick))) {
			relayed -= !relay_planned(w, i, may_wait);
			waiting = may_wait && w->backlog.n > 0;
		}
	}
	return relayed;
}
