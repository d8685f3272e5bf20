// SPDX-License-Identifier: BSD-3-Clause
// Sends answers, peers' datagrams and our messages to clients, and notes their moves. This is the
// one place that distinguishes clients over UDP, over a stream and over DTLS.
#include "clients/client.h"
#include "clients/streams.h"
#include "datapath.h"
#include "drop_of.h"
#include "path/fastpath.h"
#include "ip/hops.h"
#include "ip/icmp_out.h"
#include "ip/path_mtu.h"
#include "path/rewrite.h"
#include "turn.h"
#include "turn_mark.h"
#include "turn_shard.h"
#include "path/worker.h"

// Transport of the client of a live allocation: its line names the listener.
static enum client_transport transport_of_slot(const struct worker *w, uint32_t slot)
{
	const struct source *listener;

	if (w->stream_at == NULL)
		return CLIENT_UDP;
	listener =
		&w->source[TURN_FROM_PEER][turn_mark_from(w->lines[slot].mark[TURN_FROM_CLIENT])];
	if (listener->flags == SOURCE_STREAM)
		return CLIENT_STREAM;
	return listener->flags == SOURCE_DTLS ? CLIENT_DTLS : CLIENT_UDP;
}

// Checks a peer's datagram, which f describes, before it is encrypted. Returns DP_OK or a drop
// reason. It sets in r where the record goes, and the longest message.
static unsigned int check_seal(struct worker *w, const struct turn_view *v,
	const struct rewrite_route *route, const struct net_frame *f, struct rewrite *r)
{
	const struct endpoint *src = &route->path.src, *dst = &route->path.dst;
	const uint16_t mtu = path_mtu(w, route->port_or_worker, src, dst);
	const uint32_t message = (uint32_t)r->front_len + r->len + r->pad;
	const uint32_t headers = net_headers_len(addr_is_v4(&src->addr), 0) - NET_ETH_LEN;

	r->src = src;
	r->dst = dst;
	r->may_fragment = rewrite_may_fragment(v, f, addr_is_v4(&dst->addr), f->df);
	r->mtu = (uint16_t)(mtu - dtls_clients_overhead(w, v->slot));
	if (f->ttl <= 1)
		return DP_DROP_TTL;
	return headers + message > r->mtu && !r->may_fragment ? DP_DROP_MTU : DP_OK;
}

// Sends a record, which is where the peer's data was, like a received datagram without checksum.
static void send_sealed(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	const struct rewrite_route *route, struct net_frame *f)
{
	const struct rewrite r = {.src = &route->path.src,
		.dst = &route->path.dst,
		.l2 = &w->dp->port[route->port_or_worker].l2,
		.front = v->data,
		.len = f->payload_len,
		.ip_id = rewrite_ip_id(w),
		.mtu = path_mtu(w, route->port_or_worker, &route->path.src, &route->path.dst),
		.df = f->df,
		.may_fragment =
			rewrite_may_fragment(v, f, addr_is_v4(&route->path.dst.addr), f->df),
		.fresh = true};
	unsigned int reason;

	f->l4_checksum = 0;
	reason = rewrite_frame(m, f, &r);
	if (reason != DP_OK)
		worker_drop(w, m, reason);
	else
		rewrite_send(w, m, f, route, r.mtu);
}

// Forwards to a client over DTLS: the headers follow from the peer's, the payload is a record. An
// ICMP error to the peer is sent first, while its datagram is still intact.
static void forward_sealed(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	struct rewrite_route *route, struct rewrite *r)
{
	unsigned int reason = rewrite_find_route(w, route);
	struct net_frame f;

	client_describe(m, v, &f);
	if (reason == DP_OK && route->hop != REWRITE_WIRE)
		reason = DP_DROP_NO_ROUTE; // no client has one of our addresses
	if (reason == DP_OK) {
		reason = check_seal(w, v, route, &f, r);
		icmp_out_relayed(w, m, v, r, reason);
	}
	if (reason != DP_OK)
		worker_drop(w, m, reason);
	else if (dtls_clients_seal(w, m, v, r, &f.payload_len))
		send_sealed(w, m, v, route, &f);
}

void client_forward(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	struct rewrite_route *route, struct rewrite *r)
{
	if (unlikely(turn_has_roamed(w->shard, v->slot)) && !hops_spend(m, v)) {
		icmp_out_relayed(w, m, v, r, DP_DROP_TTL);
		worker_drop(w, m, DP_DROP_TTL);
		return;
	}
	switch (transport_of_slot(w, v->slot)) {
	case CLIENT_UDP:
		rewrite_forward(w, m, v, route, r);
		break;
	case CLIENT_STREAM:
		streams_forward(w, m, v, r);
		break;
	case CLIENT_DTLS:
		forward_sealed(w, m, v, route, r);
		break;
	}
}

static void reply_datagram(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	const uint8_t *answer, uint16_t len)
{
	const struct endpoint client = {v->src, v->src_port};

	if (REWRITE_ANSWER_AT + len > m->buf_len) {
		worker_drop(w, m, DP_DROP_HEADROOM);
		return;
	}
	memcpy((uint8_t *)m->buf_addr + REWRITE_ANSWER_AT, answer, len);
	rewrite_answer(w, m, v->listener, &client, len);
}

void client_reply(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	const uint8_t *answer, uint16_t len)
{
	if (unlikely(client_is_stream(v)))
		streams_reply(w, m, v, answer, len);
	else if (unlikely((v->flags & DP_DTLS) != 0))
		dtls_clients_reply(w, m, v, answer, len);
	else
		reply_datagram(w, m, v, answer, len);
}

// Sends the message like media, which a full queue drops before any answer.
static void indicate_stream(
	struct worker *w, struct rte_mbuf *m, uint32_t slot, const uint8_t *message, uint16_t len)
{
	uint8_t *dst = (uint8_t *)m->buf_addr + RTE_PKTMBUF_HEADROOM;
	const struct turn_view v = {.data = dst, .len = len, .slot = slot};
	const struct rewrite r = {.front = dst, .len = len};

	memcpy(dst, message, len);
	streams_forward(w, m, &v, &r);
}

void client_indicate(
	struct worker *w, struct rte_mbuf *m, uint32_t slot, const uint8_t *message, uint16_t len)
{
	const struct turn_line *l = &w->lines[slot];
	struct turn_view v = {.src = l->end[TURN_FROM_CLIENT],
		.mark = l->mark[TURN_FROM_CLIENT] & TURN_MARK_CLIENT,
		.slot = slot,
		.via = TURN_NO_WORKER};

	switch (transport_of_slot(w, slot)) {
	case CLIENT_UDP:
		reply_datagram(w, m, &v, message, len);
		break;
	case CLIENT_STREAM:
		indicate_stream(w, m, slot, message, len);
		break;
	case CLIENT_DTLS:
		v.flags = DP_DTLS;
		v.stream = w->stream_at[slot];
		dtls_clients_reply(w, m, &v, message, len);
		break;
	}
}

void client_moved(void *worker, uint32_t slot, uint64_t stream)
{
	struct worker *w = worker;

	if (w->stream_at != NULL)
		streams_connect(w, slot, stream);
}

void client_redirected(struct worker *w, const struct turn_view *v, unsigned int dst)
{
	if (unlikely((v->flags & DP_DTLS) != 0))
		dtls_clients_redirected(w, v, dst);
}
