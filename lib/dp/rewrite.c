// SPDX-License-Identifier: BSD-3-Clause
// Executing plans: the payload stays where it is in its buffer, the headers in front of it are
// replaced. The UDP checksum is updated, not recomputed, so that a payload damaged in our memory is
// still found out by the receiver (RFC 1624).
#include "bytes.h"
#include "dp_int.h"

#define REPLY_TTL 64
#define PROTO_UDP 17 // in the pseudo-header

// --- one datagram -------------------------------------------------------------------------------

// The checksum of the new datagram by what is taken from and added to the old one: all but the kept
// bytes, because those that move by an odd distance change places within their 16-bit words.
static uint16_t checksum_update(const uint8_t *payload, const struct net_frame *f,
	const struct rewrite *r, uint16_t new_len)
{
	const uint16_t end = (uint16_t)(r->off + r->len);
	uint32_t removed = csum_addrs(&f->src, &f->dst) + PROTO_UDP + f->sport + f->dport +
		2u * (f->payload_len + (uint32_t)NET_UDP_LEN);
	uint32_t added = r->csum + PROTO_UDP + 2u * (new_len + (uint32_t)NET_UDP_LEN);
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
	if (headers - link + new_len > r->mtu)
		return DP_DROP_MTU;
	if ((uint32_t)r->front_len + headers > keep_at || keep_at + r->len + r->pad > m->buf_len)
		return DP_DROP_HEADROOM;
	return DP_SENT;
}

// f as the parser would fill it from the new frame.
static void describe(struct net_frame *f, const struct rewrite *r, uint16_t headers, uint16_t len)
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

	if (unlikely(reason != DP_SENT))
		return reason;
	// a datagram without checksum goes on without one, but for IPv6, which demands it
	if (likely(f->l4_checksum != 0))
		checksum = checksum_update(old, f, r, new_len);
	memcpy(payload, r->front, r->front_len);
	if (r->pad != 0)
		memset(payload + r->front_len + r->len, 0, r->pad);
	frame = net_write_udp(payload, new_len, r->l2, r->src, r->dst, &ip, checksum);
	if (unlikely(checksum == 0 && !is_v4)) {
		checksum = csum_udp(&r->src->addr, &r->dst->addr, payload - NET_UDP_LEN,
			(uint16_t)(new_len + NET_UDP_LEN));
		store_be16(payload - 2, checksum);
	}
	describe(f, r, headers, new_len);
	f->tos = ip.tos;
	f->ttl = ip.ttl;
	f->df = ip.df && is_v4;
	f->l4_checksum = checksum;
	rewrite_set_frame(m, frame, (uint32_t)headers + new_len);
	return DP_SENT;
}

// --- templates ----------------------------------------------------------------------------------

// A bijection of 16 bits under a secret of the worker: no identification comes back before 65536
// others have been used (RFC 6864), and the next is not told by the last ones.
uint16_t rewrite_ip_id(struct worker *w)
{
	uint32_t x = w->ip_id++;

	x = (uint16_t)(x * w->ip_id_key[0]);
	x ^= x >> 7;
	x = (uint16_t)(x * w->ip_id_key[1]);
	x ^= x >> 9;
	return (uint16_t)(x ^ w->ip_id_key[2]);
}

// Where a datagram to one of our own addresses goes: to a live relayed address or nowhere; never to
// a listener, the kernel or the wire.
static void aim_inside(struct worker *w, struct template *t, const struct local *to)
{
	unsigned int home;

	t->hop = HOP_NOWHERE;
	if (to->kind != LOCAL_OWN || to->relay < 0 ||
		!turn_relay_home(w->dp->map, (unsigned int)to->relay, t->dst.port, &home, &t->slot))
		return;
	t->hop = HOP_HAIRPIN;
	t->place = (uint8_t)home;
}

// Fills a template. DP_SENT or a reason; it is then left unknown, to be tried again.
static unsigned int template_fill(
	struct worker *w, struct template *t, const struct turn_path *path)
{
	const struct local *inside = local_find(w->dp->local, &path->dst.addr);
	unsigned int reason;

	t->src = path->src;
	t->dst = path->dst;
	t->csum = csum_fold(
		csum_addrs(&t->src.addr, &t->dst.addr) + t->src.port + (uint32_t)t->dst.port);
	t->hop = HOP_UNKNOWN;
	if (inside != NULL) {
		aim_inside(w, t, inside);
		return DP_SENT;
	}
	reason = nexthop_resolve(w, &t->src.addr, &t->dst.addr, &t->place, &t->neigh);
	if (reason != DP_SENT)
		return reason;
	t->generation = neigh_generation(w->neigh);
	t->hop = HOP_WIRE;
	return DP_SENT;
}

// Makes the header at once: the neighbour is then asked for while the client reads the answer to
// its ChannelBind, and the first burst need not wait in a hold of a few packets.
void rewrite_flow_reset(void *worker, uint32_t flow)
{
	struct worker *w = worker;
	struct turn_path path;

	turn_flow_path(w->shard, flow, &path);
	template_fill(w, &w->template[flow], &path); // not to be had: tried again when it is needed
}

// --- plans --------------------------------------------------------------------------------------

// Takes a rewritten packet to where its template points.
static void dispatch(
	struct worker *w, struct rte_mbuf *m, struct datagram *d, const struct template *t)
{
	if (likely(t->hop == HOP_WIRE)) {
		nexthop_send(w, m, t->place, t->neigh);
		return;
	}
	d->slot = t->slot;
	d->leg = TURN_FROM_PEER;
	d->via = TURN_NO_WORKER;
	d->hairpin = true;
	handover_datagram(w, t->place, m, d);
}

// Makes and sends front + payload[off, off + len) along a template.
static void forward(struct worker *w, struct rte_mbuf *m, struct datagram *d,
	const struct template *t, struct rewrite *r)
{
	// in process there is no wire, and so no MTU; the port that the frame would have left by
	// lends its header
	const bool wire = t->hop == HOP_WIRE;
	const struct dp_port *port = &w->dp->port[wire ? t->place : 0];
	unsigned int reason;

	if (unlikely(t->hop == HOP_NOWHERE)) {
		worker_drop(w, m, drop_of_turn(TURN_DROP_HAIRPIN_NO_ALLOCATION));
		return;
	}
	r->src = &t->src;
	r->dst = &t->dst;
	r->csum = t->csum;
	r->l2 = &port->l2;
	r->mtu = wire ? port->port->mtu : UINT16_MAX;
	r->ip_id = rewrite_ip_id(w);
	reason = rewrite_frame(m, &d->frame, r);
	if (unlikely(reason != DP_SENT)) {
		worker_drop(w, m, reason);
		return;
	}
	dispatch(w, m, d, t);
}

static void relay_any(struct worker *w, struct rte_mbuf *m, struct datagram *d,
	const struct turn_plan *plan, const struct turn_side *side)
{
	struct template *t = &w->template[plan->flow];
	uint8_t channel[CHANNEL_HEADER_LEN];
	struct rewrite r = {.front = side->front,
		.front_len = plan->front_len,
		.off = plan->off,
		.len = plan->len,
		.df = (plan->flags & TURN_PLAN_DF) != 0};

	if (t->hop == HOP_UNKNOWN ||
		(t->hop == HOP_WIRE && t->generation != neigh_generation(w->neigh))) {
		struct turn_path path;
		unsigned int reason;

		turn_flow_path(w->shard, plan->flow, &path);
		reason = template_fill(w, t, &path);
		if (reason != DP_SENT) {
			worker_drop(w, m, reason);
			return;
		}
	}
	if (plan->front_len == CHANNEL_HEADER_LEN) {
		store_be16(channel, plan->channel);
		store_be16(channel + 2, plan->len);
		r.front = channel;
	} else if (plan->front_len != 0) {
		// a Data indication: its DATA attribute is padded to 4 (RFC 8489 14)
		r.pad = -plan->len & 3;
	}
	forward(w, m, d, t, &r);
}

void rewrite_relay(struct worker *w, struct rte_mbuf *m, struct datagram *d,
	const struct turn_plan *plan, const struct turn_side *side)
{
	if (unlikely(!relay_plain(w, m, &d->frame, plan)))
		relay_any(w, m, d, plan, side);
}

void rewrite_send(struct worker *w, struct rte_mbuf *m, struct datagram *d,
	const struct turn_plan *plan, const struct turn_side *side)
{
	const struct turn_path path = {.src = side->src, .dst = side->dst};
	struct template t;
	struct rewrite r = {.front = side->front,
		.off = plan->off,
		.len = plan->len,
		.df = (plan->flags & TURN_PLAN_DF) != 0};
	const unsigned int reason = template_fill(w, &t, &path);

	if (reason != DP_SENT)
		worker_drop(w, m, reason);
	else
		forward(w, m, d, &t, &r);
}

// Puts an answer in place of the request. Back by the ordinary way, not to the MAC it came from:
// whoever can put a frame on the link is not thereby a router.
void rewrite_reply(struct worker *w, struct rte_mbuf *m, const struct datagram *d,
	const struct turn_plan *plan, const struct turn_side *side)
{
	const struct net_frame *f = &d->frame;
	const struct endpoint src = {f->dst, f->dport}, dst = {f->src, f->sport};
	const struct net_ip ip = {.ttl = REPLY_TTL, .id = rewrite_ip_id(w)};
	const uint16_t at = RTE_PKTMBUF_HEADROOM + NET_HEADERS_MAX;
	const uint16_t ip_len = net_headers_len(f->is_v4, 0) - NET_ETH_LEN + plan->front_len;
	uint8_t *payload = (uint8_t *)m->buf_addr + at;
	uint16_t neigh = NEIGH_NONE;
	uint8_t port = 0, *frame;
	unsigned int reason = nexthop_resolve(w, &src.addr, &dst.addr, &port, &neigh);

	if (reason == DP_SENT && ip_len > w->dp->port[port].port->mtu)
		reason = DP_DROP_MTU;
	if (reason == DP_SENT && at + plan->front_len > m->buf_len)
		reason = DP_DROP_HEADROOM;
	if (reason != DP_SENT) {
		worker_drop(w, m, reason);
		return;
	}
	memcpy(payload, side->front, plan->front_len);
	frame = net_write_udp(payload, plan->front_len, &w->dp->port[port].l2, &src, &dst, &ip, 0);
	store_be16(payload - 2,
		csum_udp(&src.addr, &dst.addr, payload - NET_UDP_LEN,
			(uint16_t)(plan->front_len + NET_UDP_LEN)));
	rewrite_set_frame(m, frame, (uint32_t)(payload - frame) + plan->front_len);
	nexthop_send(w, m, port, neigh);
}
