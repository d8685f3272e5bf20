// SPDX-License-Identifier: BSD-3-Clause
// The fast path. Nearly every relayed datagram stays within one address family, and a ChannelData
// header is removed from it or added. The line of its allocation has everything that this takes,
// and the new headers are written directly from it. rewrite.c handles all other datagrams.
#include <errno.h>
#include <stdlib.h>

#include "path/fastpath.h"
#include "path/accept.h"
#include "addr.h"
#include "path/backlog.h"
#include "bytes.h"
#include "clients/client.h"
#include "datapath.h"
#include "dp_view.h"
#include "drop_of.h"
#include "path/fast_headers.h"
#include "path/indication.h"
#include "path/meter.h"
#include "ip/dscp.h"
#include "ip/path_mtu.h"
#include "link/local_addrs.h"
#include "link/nexthop.h"
#include "net.h"
#include "path/rewrite.h"
#include "stun.h"
#include "turn.h"
#include "turn_config.h"
#include "turn_icmp.h"
#include "turn_line.h"
#include "turn_mark.h"
#include "turn_relay_map.h"
#include "turn_shard.h"
#include "udp.h"
#include "path/worker.h"

// --- sources of headers -------------------------------------------------------------------------

static struct source source_of(const struct addr *a, uint16_t port)
{
	return (struct source){.addr = *a,
		.port = __builtin_bswap16(port),
		.flags = addr_is_v4(a) ? DP_PLAIN | DP_IPV4 : DP_PLAIN,
		.tos_kept = 0xff};
}

static struct source source_of_listener(const struct turn_listener *l)
{
	const enum client_transport spoken = client_transport_of(l);
	struct source s = source_of(&l->endpoint.addr, l->endpoint.port);

	if (spoken != CLIENT_UDP)
		s.flags = spoken == CLIENT_DTLS ? SOURCE_DTLS : SOURCE_STREAM;
	if (l->dscp != TURN_DSCP_COPY) {
		s.tos_kept = NET_TOS_ECN;
		s.tos = turn_listener_tos(l);
	}
	return s;
}

int fastpath_sources_make(const struct turn_config *c, struct source *out[2])
{
	const uint32_t pools = c->nb_relay_pools + 1;
	struct source *relays = calloc((size_t)pools * c->nb_relay + 1, sizeof(*relays));
	struct source *listeners = calloc(TURN_LINE_LISTENER(c->nb_listeners), sizeof(*listeners));

	out[TURN_FROM_CLIENT] = relays;
	out[TURN_FROM_PEER] = listeners;
	if (relays == NULL || listeners == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < pools * c->nb_relay; i++) {
		const struct addr a = turn_relay_pool_addr(c, i / c->nb_relay, i % c->nb_relay);

		relays[i] = source_of(&a, 0);
	}
	for (uint32_t i = 0; i < c->nb_listeners; i++)
		listeners[TURN_LINE_LISTENER(i)] = source_of_listener(&c->listeners[i]);
	return 0;
}

const struct source *fastpath_listener_source(const struct worker *w, uint8_t listener)
{
	return &w->source[TURN_FROM_PEER][TURN_LINE_LISTENER(listener)];
}

void fastpath_wires_init(struct worker *w)
{
	uint32_t mtu = UINT16_MAX;

	w->wires = __atomic_load_n(&w->dp->wires, __ATOMIC_ACQUIRE);
	for (unsigned int p = 0; p < w->dp->nb_ports; p++) {
		const struct dp_port *port = &w->dp->port[p];
		uint8_t tail[8];

		memcpy(tail, port->l2.src, 6);
		for (unsigned int is_v4 = 0; is_v4 < 2; is_v4++) {
			store_be16(tail + 6, is_v4 ? NET_ETHERTYPE_IP4 : NET_ETHERTYPE_IP6);
			memcpy(&w->tx[p].tail[is_v4], tail, sizeof(tail));
		}
		// rewrite.c and tx.c handle tagged frames, and frames that another worker's queue
		// sends
		if (port->l2.vlan != 0 || w->id >= port->port->nb_txq)
			return;
		mtu = RTE_MIN(mtu, port->port->mtu);
	}
	w->plain_max = (uint16_t)(mtu + NET_ETH_LEN - CHANNEL_HEADER_LEN);
}

// --- lines --------------------------------------------------------------------------------------

// Two sums that a line keeps for datagrams of its client; those of the peer use the complements.
// The lower half is the change of a UDP checksum, without the part that depends on the length of
// the data. The upper half is the change of an IPv4 header's sum, without the fields that change at
// every hop.
static uint32_t line_sums(const struct worker *w, const struct turn_line *l)
{
	const uint32_t client_mark = l->mark[TURN_FROM_CLIENT], peer_mark = l->mark[TURN_FROM_PEER];
	const struct source *listener = &w->source[TURN_FROM_PEER][turn_mark_from(client_mark)];
	const struct source *relay = &w->source[TURN_FROM_CLIENT][turn_mark_from(peer_mark)];
	const uint16_t shorter = l->channel != 0 ? to_be16(CHANNEL_HEADER_LEN) : 0;
	const uint16_t old = fast_headers_sum_addrs(&l->end[TURN_FROM_CLIENT], &listener->addr);
	const uint16_t new = fast_headers_sum_addrs(&relay->addr, &l->end[TURN_FROM_PEER]);
	// the UDP length is in the checksum twice
	const uint16_t udp = udp_fold((uint64_t)old + to_be16((uint16_t)client_mark) +
		listener->port + (uint16_t) ~new + (uint16_t)~l->relay_port +
		(uint16_t)~to_be16((uint16_t)peer_mark) + l->channel + 2 * shorter);
	const uint16_t ip = udp_fold((uint64_t) new + (uint16_t)~old + (uint16_t)~shorter);

	return udp | (uint32_t)ip << 16;
}

// Resolves the next hop towards an end of a line early: the neighbour is then asked for while the
// client reads the answer to its request, and the first burst need not wait in a hold of a few
// packets.
static void resolve_hop(struct worker *w, struct turn_line *l, unsigned int out_leg)
{
	const struct source *src = &w->source[out_leg ^ 1][turn_mark_from(l->mark[out_leg])];
	const uint16_t sport = out_leg == TURN_FROM_PEER ? l->relay_port : src->port;
	const struct endpoint src_end = {src->addr, to_be16(sport)};
	const struct endpoint dst_end = {l->end[out_leg], turn_mark_port(l->mark[out_leg])};
	const struct nexthop_lookup lookup = {&src->addr, &l->end[out_leg],
		&l->end[TURN_FROM_CLIENT], turn_icmp_user(w->shard, (uint32_t)(l - w->lines))};
	uint16_t neigh;
	uint8_t port;

	if (out_leg == TURN_FROM_CLIENT && turn_has_roamed(w->shard, (uint32_t)(l - w->lines)))
		return;
	if (l->hop[out_leg] == 0 && src->flags != SOURCE_STREAM &&
		!path_mtu_lowered(w, &src_end, &dst_end) &&
		!local_addrs_ours(w->local, &l->end[out_leg]) &&
		nexthop_resolve(w, &lookup, &port, &neigh) == DP_OK)
		l->hop[out_leg] = neigh_note(w->neigh, neigh);
}

void fastpath_line_made(void *worker, uint32_t slot)
{
	struct worker *w = worker;
	struct turn_line *l = &turn_shard_lines(w->shard)[slot];

	resolve_hop(w, l, TURN_FROM_CLIENT);
	if (l->until == 0)
		return;
	resolve_hop(w, l, TURN_FROM_PEER);
	l->sums = line_sums(w, l);
}

// --- one datagram -------------------------------------------------------------------------------

// How a burst is relayed. metered is a constant wherever this is inlined, so that a datagram costs
// nothing more if no rate is limited.
struct relaying {
	uint32_t tick;
	bool metered;
};

// Number of bytes by which the new frame begins later: a ChannelData header is removed or added.
// leg is a constant where speed matters.
static inline int moved_by(unsigned int leg)
{
	return (int)((leg - 1) & 2 * CHANNEL_HEADER_LEN) - CHANNEL_HEADER_LEN;
}

static inline uint16_t new_udp_len(const struct turn_view *v, unsigned int leg)
{
	return (uint16_t)(v->len + NET_UDP_LEN - moved_by(leg));
}

// Change of an IPv4 header's sum. The line keeps it for the client's datagrams. For those of the
// peer it is subtracted from 0xffff, so that nothing is below zero.
static inline uint32_t ip_grows(const struct turn_line *l, unsigned int leg)
{
	const uint32_t growth = l->sums >> 16;

	return leg == TURN_FROM_CLIENT ? growth : 0xffff - growth;
}

static inline uint32_t udp_grows(const struct turn_line *l, uint32_t front, unsigned int leg)
{
	const uint32_t growth = (uint16_t)l->sums + (front >> 16);

	return leg == TURN_FROM_CLIENT ? growth : 2 * 0xffff - growth;
}

// Writes the new UDP header, and the ChannelData header after it if one is added. The old IP
// header, from which the new one is made, stays intact. It reads everything as late as possible,
// because there are too few registers to keep the values.
static __rte_always_inline void write_udp(const struct turn_line *l, const struct turn_view *v,
	uint8_t *data, const struct source *src, unsigned int leg)
{
	const struct fast_headers p = fast_headers_from_line(l, src, data, leg);
	uint8_t *udp = data + moved_by(leg) - NET_UDP_LEN;
	uint32_t sum = load_raw16(data - 2), front;

	write_raw16(udp, p.sport);
	write_raw16(udp + 2, p.dport);
	write_raw16(udp + 4, to_be16(new_udp_len(v, leg)));
	front = turn_line_front(l, v, leg);
	sum += udp_grows(l, front, leg);
	write_raw16(udp + 6, udp_fold32(sum));
	if (leg == TURN_FROM_PEER)
		memcpy(data - CHANNEL_HEADER_LEN, &front, CHANNEL_HEADER_LEN);
}

// Relays a datagram if the line that was found for it vouches, or drops it if it exceeds a rate.
// False if the line does not vouch, or something about the datagram or its route is unusual; then
// nothing has been changed.
static __rte_always_inline bool relay_line(struct worker *w, struct rte_mbuf *m,
	const struct turn_view *v, unsigned int leg, struct relaying r)
{
	const uint32_t out_leg = leg ^ 1;
	const int moved = moved_by(leg);
	struct turn_line *l = &w->lines[v->slot];
	const struct neigh_hop *hop = neigh_note_hop(w->hops, l->hop[out_leg]);
	const struct source *src = &w->source[leg][turn_mark_from(l->mark[out_leg])];
	uint8_t *data = (uint8_t *)(uintptr_t)v->data;
	struct fast_headers p;

	// in this order: src may be outside its array if the line belongs to no allocation
	if (unlikely(!turn_line_vouches(l, v, leg, r.tick) ||
		    !neigh_note_holds(hop, l->hop[out_leg]) ||
		    (v->flags & (DP_PLAIN | DP_IPV4)) != src->flags ||
		    (int)m->data_off + moved < 0))
		return false;
	if (r.metered && unlikely(!meter_pay(w, m, v, leg, turn_view_data(v, leg))))
		return true;
	turn_line_add(l, leg, turn_view_data(v, leg));
	m->data_off = (uint16_t)(m->data_off + moved);
	m->data_len = (uint16_t)(m->data_len - moved);
	m->pkt_len -= (uint32_t)moved;
	m->ol_flags &= RTE_MBUF_F_EXTERNAL | RTE_MBUF_F_INDIRECT;
	write_udp(l, v, data, src, leg);
	p = (struct fast_headers){.src = &src->addr,
		.dst = &l->end[out_leg],
		.payload = data,
		.moved = moved,
		.udp_len = new_udp_len(v, leg),
		.ip = ip_grows(l, leg)};
	if (likely((v->flags & DP_IPV4) != 0))
		fast_headers_send(w, hop, m, fast_headers_write_ip4(w, &p), true);
	else
		fast_headers_send(w, hop, m, fast_headers_write_ip6(&p), false);
	turn_line_added(w->shard, l, v->slot, leg);
	return true;
}

// Checks the conditions of relay_line. A common function would cost each datagram six instructions.
bool fastpath_vouches(const struct worker *w, uint8_t *port)
{
	const uint32_t tick = (uint32_t)(w->now_ms / TURN_LINE_MS);
	const struct turn_view *v = &w->burst.turn.view[0];
	const unsigned int leg = v->leg;
	const struct turn_line *l = &w->lines[v->slot];
	const struct neigh_hop *hop;

	if (v->slot == TURN_NONE || w->backlog.n > 0 || !turn_line_vouches(l, v, leg, tick))
		return false;
	hop = neigh_note_hop(w->hops, l->hop[leg ^ 1]);
	*port = hop->port;
	return neigh_note_holds(hop, l->hop[leg ^ 1]) &&
		(v->flags & (DP_PLAIN | DP_IPV4)) ==
		w->source[leg][turn_mark_from(l->mark[leg ^ 1])].flags;
}

// The reason to drop a datagram of a client whose address is not served, or TURN_OK. Clients with
// an allocation are served: a rule or order against their address ends it (turn_judge.h).
static enum turn_drop shut_out(const struct worker *w, const struct turn_view *v)
{
	return v->leg == TURN_FROM_CLIENT && v->slot == TURN_NONE
		? turn_shard_refuses(w->shard, &v->src)
		: TURN_OK;
}

// Relays any other datagram by its plan, unless it has to wait. True if it was relayed.
static bool relay_planned(struct worker *w, unsigned int i, bool may_wait)
{
	struct burst *b = &w->burst;
	struct turn_view *v = &b->turn.view[i];
	enum turn_drop refused;

	if ((v->flags & DP_UNJUDGED) != 0 && !accept_again(w, i))
		return false;
	refused = shut_out(w, v);
	if (unlikely(refused != TURN_OK)) {
		worker_drop(w, b->m[i], drop_of_turn(refused));
		return false;
	}
	if (unlikely(client_concerns(w, v)) && client_take(w, b->m[i], v, may_wait))
		return false;
	if (may_wait && backlog_concerns(&w->backlog, v) && backlog_take(w, b->m[i], v))
		return false;
	turn_route_finish(w->shard, &b->turn, i);
	rewrite_plan(w, b->m[i], v, &b->turn.plan, &b->turn.side);
	return b->turn.plan.verdict == TURN_RELAY || b->turn.plan.verdict == TURN_SEND;
}

// True if a datagram waits after a request of its client. A datagram that is still to be decrypted
// does not wait, but its decrypted messages do.
static bool waits_behind(struct worker *w, struct rte_mbuf *m, const struct turn_view *v)
{
	return v->leg == TURN_FROM_CLIENT && !dp_view_is_request(v) && !client_concerns(w, v) &&
		backlog_take(w, m, v);
}

// Relays datagrams [start, stop) of a leg, up to the first one that needs a plan. Returns the index
// after the last one relayed. The other leg has other flows, so the order within a flow is kept.
static __rte_always_inline unsigned int relay_leg(struct worker *w, unsigned int leg,
	unsigned int start, unsigned int stop, struct relaying r)
{
	const struct turn_burst *b = &w->burst.turn;
	const uint8_t *pos = b->by_leg[leg] + start, *const end = b->by_leg[leg] + stop;

	for (; pos < end; pos++) {
		const struct turn_view *v = &b->view[*pos];

		__asm__("" : "+r"(v)); // one address, or gcc sometimes computes one more
		if (unlikely(v->slot == TURN_NONE) ||
			unlikely(!relay_line(w, w->burst.m[*pos], v, leg, r)))
			break;
	}
	return (unsigned int)(pos - b->by_leg[leg]);
}

static __rte_noinline unsigned int relay_clients(
	struct worker *w, unsigned int start, unsigned int stop, uint32_t tick)
{
	return relay_leg(w, TURN_FROM_CLIENT, start, stop, (struct relaying){tick, false});
}

static __rte_noinline unsigned int relay_peers(
	struct worker *w, unsigned int start, unsigned int stop, uint32_t tick)
{
	return relay_leg(w, TURN_FROM_PEER, start, stop, (struct relaying){tick, false});
}

// Calls relay_leg for a datagram that may exceed a rate.
static __rte_noinline bool relay_asking(
	struct worker *w, unsigned int leg, unsigned int i, uint32_t tick)
{
	return relay_leg(w, leg, i, i + 1, (struct relaying){tick, true}) > i;
}

// Relays a leg where rates are limited: datagrams that were paid for in advance are relayed like
// all others.
static unsigned int relay_metered(struct worker *w, unsigned int leg, uint32_t tick)
{
	const unsigned int n = w->burst.turn.nb[leg];
	unsigned int done = 0;

	for (;;) {
		const unsigned int paid = meter_pay_leg(w, leg, done);

		done = leg == TURN_FROM_CLIENT ? relay_clients(w, done, paid, tick)
					       : relay_peers(w, done, paid, tick);
		if (unlikely(done < paid))
			meter_give_leg(w, leg, done, paid);
		if (done < paid || done == n || !relay_asking(w, leg, done, tick))
			return done;
		done++;
	}
}

// Relays datagram i, which has position pos in its leg, by a line without a channel.
static inline bool relay_indication(
	struct worker *w, unsigned int i, unsigned int pos, struct relaying r)
{
	const struct turn_view *v = &w->burst.turn.view[i];

	return r.metered ? indication_relay_metered(w, w->burst.m[i], v, r.tick)
			 : indication_relay_leg(w, v->leg, pos, pos + 1, r.tick) > pos;
}

// Relays the datagrams that relay_leg has left, in the order of their arrival.
static __rte_always_inline unsigned int relay_rest(
	struct worker *w, const unsigned int done[2], struct relaying r, bool may_wait)
{
	const struct turn_burst *b = &w->burst.turn;
	const uint8_t *next_client = b->by_leg[TURN_FROM_CLIENT],
		      *next_peer = b->by_leg[TURN_FROM_PEER];
	const uint8_t *last_client = next_client + b->nb[TURN_FROM_CLIENT];
	const uint8_t *last_peer = next_peer + b->nb[TURN_FROM_PEER];
	unsigned int relayed = 0;
	bool waiting = may_wait && w->backlog.n > 0;

	next_client += done[TURN_FROM_CLIENT];
	next_peer += done[TURN_FROM_PEER];
	while (next_client < last_client || next_peer < last_peer) {
		const unsigned int client = next_client < last_client ? *next_client : TURN_BURST;
		const unsigned int peer = next_peer < last_peer ? *next_peer : TURN_BURST;
		const unsigned int i = RTE_MIN(client, peer);
		const struct turn_view *v = &b->view[i];
		struct rte_mbuf *m = w->burst.m[i];
		const unsigned int leg = v->leg;
		const unsigned int pos = (unsigned int)(leg == TURN_FROM_CLIENT
				? next_client - b->by_leg[TURN_FROM_CLIENT]
				: next_peer - b->by_leg[TURN_FROM_PEER]);

		next_client += leg == TURN_FROM_CLIENT;
		next_peer += leg == TURN_FROM_PEER;
		if (waiting && waits_behind(w, m, v))
			continue;
		if (v->slot != TURN_NONE &&
			(w->lines[v->slot].channel != 0 ? relay_line(w, m, v, leg, r)
							: relay_indication(w, i, pos, r))) {
			relayed++;
		} else {
			relayed += relay_planned(w, i, may_wait);
			waiting = may_wait && w->backlog.n > 0;
		}
	}
	return relayed;
}

// Continues a leg where relay_leg has stopped, as far as lines vouch: lines of peers without a
// channel and lines with channels, in turn. Returns the index after the last one relayed.
static unsigned int relay_on(struct worker *w, unsigned int leg, unsigned int done, uint32_t tick)
{
	const unsigned int n = w->burst.turn.nb[leg];

	while (done < n) {
		const unsigned int start = done;

		done = indication_relay_leg(w, leg, start, n, tick);
		if (done == n || done == start)
			break;
		done = leg == TURN_FROM_CLIENT ? relay_clients(w, done, n, tick)
					       : relay_peers(w, done, n, tick);
	}
	return done;
}

static __rte_noinline unsigned int rest_plain(
	struct worker *w, unsigned int done[2], uint32_t tick, bool may_wait)
{
	const unsigned int before = done[TURN_FROM_CLIENT] + done[TURN_FROM_PEER];

	if (likely(!may_wait || w->backlog.n == 0))
		done[TURN_FROM_CLIENT] =
			relay_on(w, TURN_FROM_CLIENT, done[TURN_FROM_CLIENT], tick);
	done[TURN_FROM_PEER] = relay_on(w, TURN_FROM_PEER, done[TURN_FROM_PEER], tick);
	return done[TURN_FROM_CLIENT] + done[TURN_FROM_PEER] - before +
		relay_rest(w, done, (struct relaying){tick, false}, may_wait);
}

static __rte_noinline unsigned int rest_metered(
	struct worker *w, const unsigned int done[2], uint32_t tick, bool may_wait)
{
	return relay_rest(w, done, (struct relaying){tick, true}, may_wait);
}

static __rte_always_inline unsigned int relay_burst(struct worker *w, bool may_wait, bool metered)
{
	const uint32_t tick = (uint32_t)(w->now_ms / TURN_LINE_MS);
	const struct turn_burst *b = &w->burst.turn;
	unsigned int done[2] = {0, 0}, relayed;

	// if a request waits, its client's datagrams wait after it
	if (likely(!may_wait || w->backlog.n == 0))
		done[TURN_FROM_CLIENT] = metered
			? relay_metered(w, TURN_FROM_CLIENT, tick)
			: relay_clients(w, 0, b->nb[TURN_FROM_CLIENT], tick);
	done[TURN_FROM_PEER] = metered ? relay_metered(w, TURN_FROM_PEER, tick)
				       : relay_peers(w, 0, b->nb[TURN_FROM_PEER], tick);
	relayed = done[TURN_FROM_CLIENT] + done[TURN_FROM_PEER];
	if (unlikely(relayed < b->nb[TURN_FROM_CLIENT] + b->nb[TURN_FROM_PEER]))
		relayed += metered ? rest_metered(w, done, tick, may_wait)
				   : rest_plain(w, done, tick, may_wait);
	return relayed;
}

unsigned int fastpath_burst(struct worker *w, bool may_wait)
{
	return relay_burst(w, may_wait, false);
}

unsigned int fastpath_burst_metered(struct worker *w, bool may_wait)
{
	return relay_burst(w, may_wait, true);
}
