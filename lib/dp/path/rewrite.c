// SPDX-License-Identifier: BSD-3-Clause
// Executes plans. The payload keeps its place in the buffer, and the headers in front of it are
// replaced. The UDP checksum is updated, not recomputed, so that the receiver still detects a
// payload that was damaged in our memory (RFC 1624).
#include "path/rewrite.h"
#include "addr.h"
#include "bytes.h"
#include "clients/client.h"
#include "dp_features.h"
#include "datapath.h"
#include "drop_of.h"
#include "dp_view.h"
#include "path/fast_headers.h"
#include "path/fastpath.h"
#include "ip/fragment_out.h"
#include "ip/icmp_out.h"
#include "ip/path_mtu.h"
#include "link/local_addrs.h"
#include "link/nexthop.h"
#include "link/tx.h"
#include "net.h"
#include "stun.h"
#include "turn.h"
#include "turn_drop.h"
#include "turn_icmp.h"
#include "turn_relay_map.h"
#include "turn_shard.h"
#include "path/worker.h"
#include "workers/handover.h"

#define REPLY_TTL 64

// --- one datagram -------------------------------------------------------------------------------

// Updates the checksum by all bytes that are removed or added; the kept bytes need no reading. Kept
// bytes that move by an odd distance swap places within their 16-bit words.
static uint16_t checksum_update(const uint8_t *payload, const struct net_frame *f,
	const struct rewrite *r, uint16_t new_len)
{
	const uint16_t end = (uint16_t)(r->off + r->len);
	uint32_t removed = csum_addrs(&f->src, &f->dst) + NET_PROTO_UDP + f->sport + f->dport +
		2u * (f->payload_len + (uint32_t)NET_UDP_LEN);
	uint32_t added = r->csum + NET_PROTO_UDP + 2u * (new_len + (uint32_t)NET_UDP_LEN);
	uint32_t kept, tail;
	uint16_t sum;

	removed = csum_add(removed, payload, r->off);
	added = csum_add(added, r->front, r->front_len);
	tail = csum_fold(csum_add(0, payload + end, (size_t)f->payload_len - end));
	removed += (end & 1) == 0 ? tail : __builtin_bswap16((uint16_t)tail);
	if (likely(((r->off ^ r->front_len) & 1) == 0))
		return csum_update(f->l4_checksum, removed, added);
	kept = csum_fold((uint16_t)~f->l4_checksum + (uint32_t)(uint16_t)~csum_fold(removed));
	kept = __builtin_bswap16((uint16_t)kept);
	sum = (uint16_t)~csum_fold(kept + csum_fold(added));
	return sum != 0 ? sum : 0xffff;
}

static unsigned int rewrite_check(const struct rte_mbuf *m, const struct net_frame *f,
	const struct rewrite *r, uint16_t headers)
{
	const uint32_t new_len = (uint32_t)r->front_len + r->len + r->pad;
	const uint32_t keep_at = (uint32_t)m->data_off + f->payload_off + r->off;
	const uint32_t link = NET_ETH_LEN + (r->l2->vlan != 0 ? NET_VLAN_LEN : 0);

	if (f->ttl <= 1)
		return DP_DROP_TTL;
	if (headers - link + new_len > (r->may_fragment ? UINT16_MAX : r->mtu))
		return DP_DROP_MTU;
	if ((uint32_t)r->front_len + headers > keep_at || keep_at + r->len + r->pad > m->buf_len)
		return DP_DROP_HEADROOM;
	return DP_OK;
}

// Fills f as the parser would for the new frame.
static void describe_frame(
	struct net_frame *f, const struct rewrite *r, uint16_t headers, uint16_t len)
{
	const bool is_v4 = addr_is_v4(&r->src->addr);

	*f = (struct net_frame){.src = r->src->addr,
		.dst = r->dst->addr,
		.sport = r->src->port,
		.dport = r->dst->port,
		.l3_off = (uint16_t)(headers - NET_UDP_LEN - (is_v4 ? NET_IP4_LEN : NET_IP6_LEN)),
		.l4_off = (uint16_t)(headers - NET_UDP_LEN),
		.payload_off = headers,
		.payload_len = len,
		.kind = NET_UDP,
		.is_v4 = is_v4};
}

unsigned int rewrite_frame(struct rte_mbuf *m, struct net_frame *f, const struct rewrite *r)
{
	const bool is_v4 = addr_is_v4(&r->src->addr);
	const uint16_t headers = net_headers_len(is_v4, r->l2->vlan);
	const uint16_t new_len = (uint16_t)(r->front_len + r->len + r->pad);
	const struct net_ip ip = {
		.tos = f->tos, .ttl = (uint8_t)(f->ttl - 1), .id = r->ip_id, .df = r->df};
	const unsigned int reason = rewrite_check(m, f, r, headers);
	uint8_t *old = rte_pktmbuf_mtod_offset(m, uint8_t *, f->payload_off);
	uint8_t *payload = old + r->off - r->front_len;
	uint16_t checksum = 0;
	uint8_t *frame;

	if (unlikely(reason != DP_OK))
		return reason;
	// a datagram without a checksum is sent without one, except over IPv6, which requires it
	if (likely(f->l4_checksum != 0))
		checksum = checksum_update(old, f, r, new_len);
	memcpy(payload, r->front, r->front_len);
	if (r->pad != 0)
		memset(payload + r->front_len + r->len, 0, r->pad);
	frame = net_write_udp(payload, new_len, r->l2, r->src, r->dst, &ip, checksum);
	if (unlikely(checksum == 0 && (!is_v4 || r->fresh))) {
		checksum = csum_udp(&r->src->addr, &r->dst->addr, payload - NET_UDP_LEN,
			(uint16_t)(new_len + NET_UDP_LEN));
		store_be16(payload - 2, checksum);
	}
	describe_frame(f, r, headers, new_len);
	f->tos = ip.tos;
	f->ttl = ip.ttl;
	f->df = ip.df && is_v4;
	f->l4_checksum = checksum;
	rewrite_set_frame(m, frame, (uint32_t)headers + new_len);
	return DP_OK;
}

// --- route ------------------------------------------------------------------------------------

// Route of a datagram to one of our addresses: to a live relayed transport address, to a program of
// this machine if the policy allows it, or none; never to a listener or the wire. Returns DP_OK or
// a drop reason.
static unsigned int aim_inside(
	struct worker *w, struct rewrite_route *route, const struct local_addr *laddr)
{
	const uint16_t port = route->path.dst.port;
	enum turn_inside inside = TURN_INSIDE_PROGRAM;
	unsigned int home;

	if (laddr->kind != LOCAL_OWN)
		return drop_of_turn(TURN_DROP_HAIRPIN_NO_ALLOCATION);
	if (laddr->relay >= 0 &&
		turn_relay_map_home(
			w->dp->map, (unsigned int)laddr->relay, port, &home, &route->slot))
		inside = TURN_INSIDE_RELAYED;
	else if (w->dp->loopback < 0 || local_addrs_listener(w->local, laddr, port) >= 0)
		return drop_of_turn(TURN_DROP_PEER_OWN);
	if (!turn_shard_inside(w->shard, route->owner_slot, &laddr->addr, inside))
		return drop_of_turn(TURN_DROP_PEER_OWN);
	route->hop = inside == TURN_INSIDE_RELAYED ? REWRITE_HAIRPIN : REWRITE_PROGRAM;
	route->port_or_worker =
		(uint8_t)(inside == TURN_INSIDE_RELAYED ? (int)home : w->dp->loopback);
	return DP_OK;
}

unsigned int rewrite_find_route(struct worker *w, struct rewrite_route *route)
{
	const struct turn_path *path = &route->path;
	struct nexthop_lookup lookup = {&path->src.addr, &path->dst.addr, route->client, 0};
	const struct local_addr *inside;
	unsigned int reason;

	route->hop = REWRITE_WIRE;
	if (path->hop != NULL) {
		route->neigh = neigh_noted(w->neigh, *path->hop);
		if (route->neigh != NEIGH_NONE) {
			route->port_or_worker = w->hops[route->neigh].port;
			return DP_OK;
		}
	}
	inside = local_addrs_find(w->local, &path->dst.addr);
	if (inside != NULL && inside->kind != LOCAL_COMMON)
		return aim_inside(w, route, inside);
	lookup.user = turn_icmp_user(w->shard, route->owner_slot);
	reason = nexthop_resolve(w, &lookup, &route->port_or_worker, &route->neigh);
	if (reason == DP_OK && path->hop != NULL && !path_mtu_lowered(w, &path->src, &path->dst))
		*path->hop = neigh_note(w->neigh, route->neigh);
	return reason;
}

// --- plans --------------------------------------------------------------------------------------

// RFC 8656 sections 13 to 15. To IPv4, and for a message from a stream, which had no IP header, the
// requested DF decides. From IPv4 to IPv6 the DF of the packet decides. From IPv6 to IPv6 a
// datagram may leave in fragments if it came in fragments.
bool rewrite_may_fragment(const struct turn_view *v, const struct net_frame *f, bool to_v4, bool df)
{
	if (to_v4 || client_is_stream(v))
		return !df;
	return f->is_v4 ? !f->df : (v->flags & DP_FRAGMENTED) != 0;
}

void rewrite_send(struct worker *w, struct rte_mbuf *m, const struct net_frame *f,
	const struct rewrite_route *route, uint16_t mtu)
{
	const struct fragment_route out = {route->port_or_worker, route->neigh, mtu};

	if (unlikely(m->pkt_len - f->l3_off > mtu))
		fragment_out_send(w, m, f, &out);
	else
		nexthop_send(w, m, route->port_or_worker, route->neigh);
}

// Gives a rewritten packet, which f describes, to the home of the relayed address that it is for.
// flags are those of its view.
static void give_inside(struct worker *w, struct rte_mbuf *m, const struct net_frame *f,
	const struct rewrite_route *route, uint8_t flags)
{
	const struct turn_view v = {.src = f->src,
		.src_port = f->sport,
		.data = rte_pktmbuf_mtod_offset(m, const uint8_t *, f->payload_off),
		.len = f->payload_len,
		.slot = route->slot,
		.leg = TURN_FROM_PEER,
		.flags = flags,
		.via = TURN_NO_WORKER,
		.inside = TURN_INSIDE_RELAYED};

	handover_datagram(w, route->port_or_worker, m, &v);
}

void rewrite_forward(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	struct rewrite_route *route, struct rewrite *r)
{
	unsigned int reason = rewrite_find_route(w, route);
	// in process and to programs of this machine there is no wire and so no MTU; in process,
	// the header is that of port 0
	const bool wire = route->hop == REWRITE_WIRE, inside = route->hop == REWRITE_HAIRPIN;
	const struct dp_port *port =
		&w->dp->port[inside || reason != DP_OK ? 0 : route->port_or_worker];
	struct net_frame f;
	bool cut = false;

	if (reason == DP_OK) {
		r->src = &route->path.src;
		r->dst = &route->path.dst;
		r->mtu = wire ? path_mtu(w, route->port_or_worker, r->src, r->dst) : UINT16_MAX;
		if (wire && fast_headers_relay(w, m, v, r, route->neigh))
			return;
		r->fresh = client_describe(m, v, &f);
		r->csum = csum_fold(csum_addrs(&r->src->addr, &r->dst->addr) + r->src->port +
			(uint32_t)r->dst->port);
		r->l2 = &port->l2;
		r->ip_id = rewrite_ip_id(w);
		// DONT-FRAGMENT has no effect on datagrams that came over IPv6 (RFC 8656 13), but
		// it has on messages that came over TCP (RFC 8656 15)
		r->df = f.df || (r->df && (f.is_v4 || r->fresh));
		cut = rewrite_may_fragment(v, &f, addr_is_v4(&r->dst->addr), r->df);
		r->may_fragment = wire && cut;
		reason = rewrite_frame(m, &f, r);
	}
	if (unlikely(reason != DP_OK)) {
		icmp_out_relayed(w, m, v, r, reason);
		worker_drop(w, m, reason);
	} else if (likely(wire)) {
		rewrite_send(w, m, &f, route, r->mtu);
	} else if (route->hop == REWRITE_PROGRAM) {
		tx_put(w, route->port_or_worker, m);
	} else {
		give_inside(w, m, &f, route, cut ? DP_FRAGMENTED : 0);
	}
}

static void relay_any(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	const struct turn_plan *plan, const struct turn_side *side)
{
	uint8_t channel[CHANNEL_HEADER_LEN];
	struct rewrite r = {.front = side->front,
		.front_len = plan->front_len,
		.off = plan->off,
		.len = plan->len,
		.df = (plan->flags & TURN_PLAN_DF) != 0};
	struct rewrite_route route;

	if (plan->verdict == TURN_SEND)
		route.path = (struct turn_path){side->src, side->dst, NULL};
	else
		turn_route_path(w->shard, plan->flow, &route.path);
	route.client = v->leg == TURN_FROM_CLIENT ? &v->src : &route.path.dst.addr;
	route.owner_slot = v->slot;
	if (plan->front_len == CHANNEL_HEADER_LEN) {
		store_be16(channel, plan->channel);
		store_be16(channel + 2, plan->len);
		r.front = channel;
	} else if (plan->front_len != 0) {
		// a Data indication: DATA is padded to 4 bytes (RFC 8489 14)
		r.pad = -plan->len & 3;
	}
	w->losses = (struct losses){m, {v->slot, plan->len, v->leg}};
	if (v->leg == TURN_FROM_PEER)
		client_forward(w, m, v, &route, &r);
	else
		rewrite_forward(w, m, v, &route, &r);
	w->losses.m = NULL;
}

// Puts an answer in place of the request. It takes the route to the client, and does not go back to
// the MAC that the request came from: a host that can put a frame on the link is not therefore a
// router. The answer may leave in fragments: over IPv4 it has no DF, and over IPv6 we are its
// source.
void rewrite_answer(struct worker *w, struct rte_mbuf *m, uint8_t listener,
	const struct endpoint *client, uint16_t len)
{
	const struct source *source = fastpath_listener_source(w, listener);
	const struct endpoint src = {source->addr, __builtin_bswap16(source->port)};
	const struct net_ip ip = {.tos = source->tos, .ttl = REPLY_TTL, .id = rewrite_ip_id(w)};
	const struct nexthop_lookup lookup = {&src.addr, &client->addr, &client->addr, 0};
	uint8_t *payload = (uint8_t *)m->buf_addr + REWRITE_ANSWER_AT, *frame;
	struct rewrite_route route = {.neigh = NEIGH_NONE};
	const unsigned int reason =
		nexthop_resolve(w, &lookup, &route.port_or_worker, &route.neigh);
	struct net_frame f;

	if (reason != DP_OK) {
		worker_drop(w, m, reason);
		return;
	}
	frame = net_write_udp(
		payload, len, &w->dp->port[route.port_or_worker].l2, &src, client, &ip, 0);
	store_be16(payload - 2,
		csum_udp(&src.addr, &client->addr, payload - NET_UDP_LEN,
			(uint16_t)(len + NET_UDP_LEN)));
	rewrite_set_frame(m, frame, (uint32_t)(payload - frame) + len);
	net_frame_describe(frame, (uint16_t)(payload - frame), len, &f);
	rewrite_send(w, m, &f, &route, path_mtu(w, route.port_or_worker, &src, client));
}

static void send_unreachable(struct worker *w, const struct rte_mbuf *m, const struct turn_view *v)
{
	struct net_frame f;

	client_describe(m, v, &f);
	icmp_out_unreachable(w, m, &f);
}

void rewrite_plan(struct worker *w, struct rte_mbuf *m, struct turn_view *v,
	const struct turn_plan *plan, const struct turn_side *side)
{
	switch ((enum turn_verdict)plan->verdict) {
	case TURN_RELAY:
	case TURN_SEND:
		relay_any(w, m, v, plan, side);
		break;
	case TURN_REPLY:
#define X(flag, send)                                \
	if (unlikely((plan->flags & (flag)) != 0)) { \
		send(w, m, v, side);                 \
		break;                               \
	}
		DP_REPLIES(X)
#undef X
		if (unlikely((plan->flags & TURN_PLAN_ASIDE) != 0)) {
			v->listener = (uint8_t)plan->flow;
			v->src_port = plan->channel;
		}
		client_reply(w, m, v, side->front, plan->front_len);
		break;
	case TURN_WAIT:
#define X(put) put(w, m, v, plan->flow);
		DP_WAITS(X)
#undef X
		break;
	// the client was redirected; the next worker does not look up its home again, and may have
	// to wait for an answer itself
	case TURN_HANDOVER:
		v->via = w->id;
		v->flags &= (uint8_t)~TURN_VIEW_WAITED;
		client_redirected(w, v, plan->flow);
		handover_datagram(w, plan->flow, m, v);
		break;
	case TURN_DROP:
		if (unlikely(plan->reason == TURN_DROP_PEER_NO_ALLOCATION))
			send_unreachable(w, m, v);
		worker_drop(w, m, drop_of_turn(plan->reason));
		break;
	}
}
