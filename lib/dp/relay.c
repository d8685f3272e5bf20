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
	return (struct source){.addr = *a,
		.port = __builtin_bswap16(port),
		.flags = addr_is_v4(a) ? DP_PLAIN | DP_IPV4 : DP_PLAIN};
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
			memcpy(&w->tx[p].tail[is_v4], tail, sizeof(tail));
		}
		// tagged frames, and those for another worker's queue, are rewrite.c's and tx.c's
		if (port->l2.vlan != 0 || w->id >= port->port->nb_txq)
			return;
		mtu = RTE_MIN(mtu, port->port->mtu);
	}
	w->plain_max = (uint16_t)(mtu + NET_ETH_LEN - CHANNEL_HEADER_LEN);
}

// --- what changes under checksums ---------------------------------------------------------------
// Sums of 16-bit words as they lie in memory.

// A 16-bit value as it lies in memory.
static inline uint16_t be16(uint16_t v)
{
	return __builtin_bswap16(v);
}

static uint16_t sum_of_addrs(const struct addr *a, const struct addr *b)
{
	return udp_fold(udp_sum4(a->d[0], a->d[1], b->d[0], b->d[1]));
}

// Sum of bytes; behind an odd number of others they have changed places.
static inline uint16_t sum_of(const uint8_t *p, size_t len, bool odd)
{
	uint16_t sum;

	if (len < 8)
		sum = len > 0 ? be16(csum_fold(csum_add(0, p, len))) : 0;
	else
		sum = udp_fold(udp_sum(0, p, len));
	return odd ? be16(sum) : sum;
}

// Of a line, for a datagram of the client; for one of the peer it is the complement. In the lower
// half what a UDP checksum grows by but for the length of the data, in the upper half what the sum
// of an IPv4 header grows by but for what any hop changes.
static uint32_t line_sums(const struct worker *w, const struct turn_line *l)
{
	const uint32_t of_client = l->mark[TURN_FROM_CLIENT], of_peer = l->mark[TURN_FROM_PEER];
	const struct source *listener = &w->source[TURN_FROM_PEER][of_client >> 16];
	const struct source *relay = &w->source[TURN_FROM_CLIENT][of_peer >> 16];
	const uint16_t shorter = l->channel != 0 ? be16(CHANNEL_HEADER_LEN) : 0;
	const uint16_t old = sum_of_addrs(&l->end[TURN_FROM_CLIENT], &listener->addr);
	const uint16_t new = sum_of_addrs(&relay->addr, &l->end[TURN_FROM_PEER]);
	// the UDP length stands twice under the checksum
	const uint16_t udp = udp_fold((uint64_t)old + be16((uint16_t)of_client) + listener->port +
		(uint16_t) ~new + (uint16_t)~l->relay_port + (uint16_t)~be16((uint16_t)of_peer) +
		l->channel + 2 * shorter);
	const uint16_t ip = udp_fold((uint64_t) new + (uint16_t)~old + (uint16_t)~shorter);

	return udp | (uint32_t)ip << 16;
}

// Finds the way to an end of a line at once: the neighbour is then asked for while the client reads
// the answer to its request, and the first burst need not wait in a hold of a few packets.
static void line_way(struct worker *w, struct turn_line *l, unsigned int to)
{
	const struct source *src = &w->source[to ^ 1][l->mark[to] >> 16];
	uint16_t neigh;
	uint8_t port;

	if (l->hop[to] == 0 && local_find(w->dp->local, &l->end[to]) == NULL &&
		nexthop_resolve(w, &src->addr, &l->end[to], &port, &neigh) == DP_SENT)
		l->hop[to] = neigh_note(w->neigh, neigh);
}

void relay_line_made(void *worker, uint32_t slot)
{
	struct worker *w = worker;
	struct turn_line *l = &turn_shard_lines(w->shard)[slot];

	line_way(w, l, TURN_FROM_CLIENT);
	if (l->until == 0)
		return;
	line_way(w, l, TURN_FROM_PEER);
	l->sums = line_sums(w, l);
}

// --- one datagram -------------------------------------------------------------------------------

// A frame to be made of another, in place. Ports and sums as they lie in memory.
struct plain {
	const struct addr *src, *dst;
	uint8_t *payload; // as it was
	int moved; // where it begins, by how much later
	uint16_t sport, dport, udp_len;
	uint32_t udp; // its UDP checksum, to be folded
	uint32_t ip; // what the sum of an IPv4 header grows by but for what any hop changes
};

// A UDP checksum is never 0, neither is what it changes by: nor is the sum then, so that no 0 comes
// out for the 0xffff that UDP wants.
static inline void write_udp(const struct plain *p)
{
	uint8_t *udp = p->payload + p->moved - NET_UDP_LEN;
	const uint16_t len = be16(p->udp_len), checksum = udp_fold32(p->udp);

	memcpy(udp, &p->sport, 2);
	memcpy(udp + 2, &p->dport, 2);
	memcpy(udp + 4, &len, 2);
	memcpy(udp + 6, &checksum, 2);
}

// Headers of IPv4 and UDP; returns the first byte. The identification stays when DF is set: it
// means nothing then (RFC 6864 section 4).
static __rte_always_inline uint8_t *write_ip4(struct worker *w, const struct plain *p)
{
	const uint8_t *old = p->payload - NET_UDP_LEN - NET_IP4_LEN;
	const uint16_t tos = udp_load16(old), hops = udp_load16(old + 8) - 1;
	const uint16_t total = be16(p->udp_len + NET_IP4_LEN);
	// 0xfffe: one hop less
	uint32_t id = udp_load32(old + 4), sum = p->ip + (udp_load16(old + 10) ^ 0xffffu) + 0xfffe;
	uint8_t *ip = p->payload + p->moved - NET_UDP_LEN - NET_IP4_LEN;
	uint16_t checksum;

	if (unlikely((id & be16(0x4000) << 16) == 0)) {
		sum += (uint16_t)~id;
		id = (id & 0xffff0000) | be16(rewrite_ip_id(w));
		sum += (uint16_t)id;
	}
	checksum = (uint16_t)~udp_fold32(sum);
	memcpy(ip, &tos, 2);
	memcpy(ip + 2, &total, 2);
	memcpy(ip + 4, &id, 4);
	memcpy(ip + 8, &hops, 2);
	memcpy(ip + 10, &checksum, 2);
	memcpy(ip + 12, &p->src->w[3], 4);
	memcpy(ip + 16, &p->dst->w[3], 4);
	write_udp(p);
	return ip;
}

static __rte_always_inline uint8_t *write_ip6(const struct plain *p)
{
	const uint8_t *old = p->payload - NET_UDP_LEN - NET_IP6_LEN;
	const uint64_t first =
		(udp_load32(old) & 0x0000f0ff) | // no flow label: its flow is another
		(uint64_t)be16(p->udp_len) << 32 | (uint64_t)17 << 48 |
		(uint64_t)(uint8_t)(old[7] - 1) << 56;
	uint8_t *ip = p->payload + p->moved - NET_UDP_LEN - NET_IP6_LEN;

	memcpy(ip, &first, 8);
	memcpy(ip + 8, p->src, 16);
	memcpy(ip + 24, p->dst, 16);
	write_udp(p);
	return ip;
}

static inline void send_plain(struct worker *w, const struct neigh_hop *hop, struct rte_mbuf *m,
	uint8_t *ip, const bool is_v4)
{
	struct outbox *o = &w->tx[hop->port];

	__asm__("" : "+r"(o)); // one address, or gcc works out one more for each member
	memcpy(ip - NET_ETH_LEN, hop, 8);
	memcpy(ip - NET_ETH_LEN + 6, &o->tail[is_v4], 8);
	if (unlikely(o->n == DP_BURST - 1))
		tx_put(w, hop->port, m); // it is full then, and goes
	else
		o->m[o->n++] = m;
}

// What is taken from and added to the old datagram under its checksums: all but the kept bytes.
static void plain_sums(struct plain *p, const struct turn_view *v, const struct rewrite *r)
{
	const unsigned int addrs = (v->flags & DP_IPV4) != 0 ? 8 : 32;
	const uint8_t *udp = v->data - NET_UDP_LEN, *data = v->data;
	const uint16_t end = (uint16_t)(r->off + r->len), new = sum_of_addrs(p->src, p->dst);
	const uint32_t taken = sum_of(udp - addrs, addrs + 4, false) + 2u * udp_load16(udp + 4) +
		sum_of(data, r->off, false) + sum_of(data + end, v->len - end, (end & 1) != 0);
	const uint32_t added = (uint32_t) new + p->sport + p->dport + 2u * be16(p->udp_len) +
		sum_of(r->front, r->front_len, false);
	const uint16_t old_total = udp_load16(udp - NET_IP4_LEN + 2);

	p->udp = (uint32_t)udp_load16(udp + 6) + udp_fold32(taken) + (uint16_t)~udp_fold32(added);
	p->ip = (uint32_t) new + be16(p->udp_len + NET_IP4_LEN) +
		(uint16_t)~udp_fold32((uint32_t)sum_of(udp - addrs, 8, false) + old_total);
}

bool relay_plain(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	const struct rewrite *r, uint16_t neigh)
{
	const struct neigh_hop *hop = &w->hops[neigh];
	const bool is_v4 = addr_is_v4(&r->src->addr);
	const uint16_t headers = NET_UDP_LEN + (is_v4 ? NET_IP4_LEN : NET_IP6_LEN);
	const uint16_t end = (uint16_t)(r->off + r->len), len = r->front_len + r->len + r->pad;
	uint8_t *data = (uint8_t *)(uintptr_t)v->data, *front = data + r->off - r->front_len, *ip;
	struct plain p = {.src = &r->src->addr,
		.dst = &r->dst->addr,
		.payload = data,
		.moved = r->off - r->front_len,
		.sport = be16(r->src->port),
		.dport = be16(r->dst->port),
		.udp_len = (uint16_t)(len + NET_UDP_LEN)};

	if ((v->flags & (DP_PLAIN | DP_IPV4)) != (is_v4 ? DP_PLAIN | DP_IPV4 : DP_PLAIN) ||
		hop->serial == NEIGH_NO_SERIAL || w->plain_max == 0 ||
		((r->off | r->front_len) & 1) != 0 || len + (uint32_t)headers > r->mtu ||
		(is_v4 && r->df && (data[-22] & 0x40) == 0) || (int)m->data_off + p.moved < 0 ||
		r->pad > rte_pktmbuf_tailroom(m))
		return false;
	plain_sums(&p, v, r);
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

// Relays a datagram if the line that was found for it vouches. False: it does not, or something
// about the datagram or its way is unusual, and nothing has been touched.
static __rte_always_inline bool relay_line(struct worker *w, struct rte_mbuf *m,
	const struct turn_view *v, unsigned int leg, uint32_t tick)
{
	const uint32_t to = leg ^ 1;
	const uint32_t off = leg - 1, on = ~off; // all ones where the header goes off, and on
	const int moved = (int)(off & 2 * CHANNEL_HEADER_LEN) - CHANNEL_HEADER_LEN;
	struct turn_line *l = &w->lines[v->slot];
	const struct neigh_hop *hop = &w->hops[(uint16_t)l->hop[to]];
	const struct source *src = &w->source[leg][l->mark[to] >> 16];
	uint8_t *data = (uint8_t *)(uintptr_t)v->data;
	struct plain p = {.dst = &l->end[to], .payload = data, .moved = moved};
	uint32_t front, sums;

	if (unlikely(!turn_line_vouches(l, v, leg, tick) || hop->serial != l->hop[to] >> 16 ||
		    (v->flags & (DP_PLAIN | DP_IPV4)) != src->flags))
		return false;
	front = turn_line_front(l, v, leg);
	sums = l->sums ^ on;
	p.src = &src->addr;
	p.sport = (uint16_t)((l->relay_port & off) | src->port); // a relay address has none
	p.dport = be16((uint16_t)l->mark[to]);
	p.udp_len = (uint16_t)(v->len + NET_UDP_LEN - moved);
	p.udp = (uint32_t)udp_load16(data - 2) + (uint16_t)sums + (uint16_t)(front >> 16 ^ on);
	p.ip = sums >> 16;
	// where it goes off, the new headers are written over this
	memcpy(data - CHANNEL_HEADER_LEN, &front, CHANNEL_HEADER_LEN);
	m->data_off = (uint16_t)(m->data_off + moved);
	m->data_len = (uint16_t)(m->data_len - moved);
	m->pkt_len -= (uint32_t)moved;
	m->ol_flags &= RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT;
	if (likely((v->flags & DP_IPV4) != 0))
		send_plain(w, hop, m, write_ip4(w, &p), true);
	else
		send_plain(w, hop, m, write_ip6(&p), false);
	turn_line_count(w->shard, l, v, leg);
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

// Relays the datagrams of a leg up to the first one that takes a plan. Returns how many. Those of
// the other leg are other flows: the order within a flow remains.
static __rte_always_inline unsigned int relay_leg(struct worker *w, unsigned int leg, uint32_t tick)
{
	const struct turn_burst *b = &w->burst.turn;
	const unsigned int n = b->nb[leg];
	unsigned int i;

	for (i = 0; i < n; i++) {
		const unsigned int at = b->of[leg][i];
		const struct turn_view *v = &b->view[at];

		if (unlikely(v->slot == TURN_NONE) ||
			unlikely(!relay_line(w, w->burst.m[at], v, leg, tick)))
			break;
	}
	return i;
}

static __rte_noinline unsigned int relay_clients(struct worker *w, uint32_t tick)
{
	return relay_leg(w, TURN_FROM_CLIENT, tick);
}

static __rte_noinline unsigned int relay_peers(struct worker *w, uint32_t tick)
{
	return relay_leg(w, TURN_FROM_PEER, tick);
}

// Relays the others in the order in which they came, from those on that relay_leg has done.
static unsigned int relay_rest(
	struct worker *w, const unsigned int done[2], uint32_t tick, bool may_wait)
{
	const struct turn_burst *b = &w->burst.turn;
	unsigned int relayed = 0, seen[2] = {0, 0};
	bool waiting = may_wait && w->backlog.n > 0;

	for (unsigned int i = 0; i < b->n; i++) {
		const struct turn_view *v = &b->view[i];
		struct rte_mbuf *m = w->burst.m[i];
		const unsigned int leg = v->leg;

		if (seen[leg]++ < done[leg] || (waiting && follows(w, m, v)))
			continue;
		if (v->slot != TURN_NONE && relay_line(w, m, v, leg, tick)) {
			relayed++;
		} else {
			relayed += relay_planned(w, i, may_wait);
			waiting = may_wait && w->backlog.n > 0;
		}
	}
	return relayed;
}

unsigned int relay_burst(struct worker *w, bool may_wait)
{
	const uint32_t tick = (uint32_t)(w->now_ms / TURN_LINE_MS);
	const struct turn_burst *b = &w->burst.turn;
	unsigned int done[2] = {0, 0}, relayed;

	// behind a request that waits its client's datagrams wait too
	if (likely(!may_wait || w->backlog.n == 0))
		done[TURN_FROM_CLIENT] = relay_clients(w, tick);
	done[TURN_FROM_PEER] = relay_peers(w, tick);
	relayed = done[TURN_FROM_CLIENT] + done[TURN_FROM_PEER];
	if (unlikely(relayed < b->n))
		relayed += relay_rest(w, done, tick, may_wait);
	return relayed;
}
