// SPDX-License-Identifier: BSD-3-Clause
// Passes orders from shards to stream threads, and reports about peers from the threads to the
// shards.
#include "features/tcp/relay_tcp.h"

#include <rte_cycles.h>

#include "clients/stream_rings.h"
#include "clients/streams.h"
#include "conf.h"
#include "devices/packet_spec.h"
#include "turn.h"
#include "turn_shard.h"
#include "turn_tcp.h"
#include "workers/mbuf_meta.h"

#define SAME(a, b) _Static_assert((int)(a) == (int)(b), "both enums have the same order")
SAME(TURN_ORDER_LISTEN, STREAM_ORDER_LISTEN);
SAME(TURN_ORDER_CONNECT, STREAM_ORDER_CONNECT);
SAME(TURN_ORDER_BIND, STREAM_ORDER_BIND);
SAME(TURN_ORDER_ADMIT, STREAM_ORDER_ADMIT);
SAME(TURN_ORDER_REKEY, STREAM_ORDER_REKEY);
SAME(TURN_ANSWER_DONE, STREAM_ANSWER_DONE);
SAME(TURN_ANSWER_NO_PORT, STREAM_ANSWER_NO_PORT);
SAME(TURN_ANSWER_EXISTS, STREAM_ANSWER_EXISTS);
SAME(TURN_ANSWER_FAILED, STREAM_ANSWER_FAILED);
SAME(TURN_ANSWER_QUOTA, STREAM_ANSWER_QUOTA);
SAME(TURN_ANSWER_DENIED, STREAM_ANSWER_DENIED);
SAME(TURN_ANSWER_UNKNOWN, STREAM_ANSWER_UNKNOWN);
SAME(TURN_ANSWER_END, STREAM_ANSWER_END);
SAME(TURN_ORDER_IDENT_LEN, TURN_IDENT_LEN);
SAME(TURN_ORDER_IDENT_LEN, STREAM_IDENT_LEN);

// --- the worker's side ---------------------------------------------------------------------------

// Writes an order and its answers into a buffer, over its old content. False if there is no room.
static bool order_put(
	struct rte_mbuf *m, const struct worker *w, const struct turn_side *side, uint64_t peer)
{
	const struct turn_order *o = &side->order;
	uint8_t *dst = (uint8_t *)m->buf_addr + RTE_PKTMBUF_HEADROOM;
	struct stream_order out = {.owner = {o->allocation, o->port_index},
		.endpoint = o->endpoint,
		.peer = peer,
		.peer_index = o->peer_index,
		.id = o->id,
		.kind = o->kind,
		.realm = o->realm,
		.worker = w->id,
		.listener = o->listener};
	uint32_t len = 0;

	memcpy(out.ident, o->ident, sizeof(out.ident));
	for (unsigned int i = 0; i < STREAM_ANSWER_END; i++) {
		out.len[i] = o->len[i];
		len += o->len[i];
	}
	if (RTE_PKTMBUF_HEADROOM + sizeof(out) + len > m->buf_len)
		return false;
	memcpy(dst, &out, sizeof(out));
	memcpy(dst + sizeof(out), side->front, len);
	rewrite_set_frame(m, dst, (uint32_t)sizeof(out) + len);
	return true;
}

void relay_tcp_order(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	const struct turn_side *side)
{
	if (order_put(m, w, side, 0))
		streams_send(w, m, v, MBUF_META_ORDER);
	else
		worker_drop(w, m, DP_DROP_HEADROOM);
}

bool relay_tcp_admit(struct worker *w, struct rte_mbuf *m, uint64_t conn)
{
	const unsigned int thread = stream_thread_of(conn);
	struct stream_rings *y = stream_rings_of(w->dp, thread, w->id);
	struct mbuf_meta *p = mbuf_meta_of(m);

	p->kind = MBUF_META_STREAM;
	p->to_stream = (struct stream_down){.conn = conn, .kind = MBUF_META_ORDER};
	if (rte_ring_count(y->down) >= y->media_max + RELAY_TCP_ADMITS ||
		rte_ring_sp_enqueue(y->down, m) != 0)
		return false;
	y->put++;
	w->stream_wake |= 1u << thread;
	return true;
}

// The answer to an attempt is not a client's datagram: neither it nor the question is counted.
void relay_tcp_attempted(struct worker *w, struct rte_mbuf *m)
{
	const struct stream_attempt a = mbuf_meta_of(m)->attempt;
	struct turn_side side;

	turn_tcp_attempt(w->shard, a.owner.port_index, a.owner.allocation, &a.peer, &side);
	// if there is no room the thread asks again
	if (!order_put(m, w, &side, a.number) || !relay_tcp_admit(w, m, a.conn))
		rte_pktmbuf_free(m);
}

void relay_tcp_not_opened(struct worker *w, struct rte_mbuf *m)
{
	const struct stream_alloc *p = &mbuf_meta_of(m)->unopened;

	turn_tcp_ended(w->shard, p->port_index, p->allocation);
	rte_pktmbuf_free(m);
}

// --- the thread's side ---------------------------------------------------------------------------

static void put_up(void *ctx, unsigned int t, unsigned int w, struct rte_mbuf *m)
{
	stream_rings_put_up(stream_rings_of(ctx, t, w), m);
	stream_rings_kick(ctx, w);
}

static void ops_attempt(void *ctx, unsigned int t, unsigned int w, const struct stream_message *m,
	const struct stream_attempt *a)
{
	struct mbuf_meta *p = mbuf_meta_of(m->buf);

	p->kind = MBUF_META_ATTEMPT;
	p->attempt = *a;
	put_up(ctx, t, w, m->buf);
}

static void ops_unopened(void *ctx, unsigned int t, unsigned int w, const struct stream_message *m,
	const struct stream_alloc *alloc)
{
	struct mbuf_meta *p = mbuf_meta_of(m->buf);

	p->kind = MBUF_META_UNOPENED;
	p->unopened = *alloc;
	put_up(ctx, t, w, m->buf);
}

// Name of the interface of the exception port, or of the port itself if it is a packet port.
static void device_of(const struct conf_port *p, char name[STREAM_DEVICE_LEN])
{
	struct packet_spec spec;
	char reason[160];

	if (p->exception.name != NULL)
		snprintf(name, STREAM_DEVICE_LEN, "%s", p->exception.name);
	else if (!p->shares && packet_spec_is(conf_port_device(p, 0)) &&
		packet_spec_parse(conf_port_device(p, 0), &spec, reason, sizeof(reason)))
		snprintf(name, STREAM_DEVICE_LEN, "%s", spec.name);
}

static void ops_device(void *ctx, const struct addr *a, char name[STREAM_DEVICE_LEN])
{
	const struct conf_port *p = conf_port_find(((const struct dp *)ctx)->conf, a);

	name[0] = '\0';
	if (p != NULL)
		device_of(p, name);
}

static bool ops_lives(void *ctx, unsigned int w, const struct stream_alloc *p)
{
	const struct dp *d = ctx;

	return turn_tcp_table_lives(d->worker[w]->shard, p->port_index, p->allocation);
}

// The lock keeps the thread's policy alive, because stream threads do not take part in the roll-out
// of a new one. A worker may have allowed a peer by the next policy that the old one denies. If
// only the old one allows it, that is found when all workers have the next policy: threads then
// check all their connections.
static bool ops_may_be_peer(void *ctx, uint8_t realm, const struct endpoint *peer)
{
	struct dp *d = ctx;
	bool allowed;

	pthread_mutex_lock(&d->policy_lock);
	allowed = turn_tcp_may_be_peer(d->policy, realm, peer) ||
		(d->policy_next != NULL && turn_tcp_may_be_peer(d->policy_next, realm, peer));
	pthread_mutex_unlock(&d->policy_lock);
	return allowed;
}

static void ops_counted(void *ctx, unsigned int w, const struct stream_alloc *p, uint32_t n)
{
	const struct dp *d = ctx;

	turn_tcp_table_counted(d->worker[w]->shard, p->port_index, p->allocation, n);
}

// The current time on the clock of the workers.
static uint64_t now_ms(const struct dp *d)
{
	return (rte_rdtsc() - d->tsc_start) / d->tsc_per_ms;
}

static struct turn_tcp_way direction_of(const struct stream_flow *f)
{
	return (struct turn_tcp_way){.allocation = f->owner.allocation,
		.port_index = f->owner.port_index,
		.leg = f->to_client ? TURN_FROM_PEER : TURN_FROM_CLIENT};
}

static uint32_t ops_allow(void *ctx, const struct stream_flow *f, uint32_t want)
{
	const struct dp *d = ctx;
	const struct turn_tcp_way direction = direction_of(f);

	return turn_tcp_take(d->worker[f->worker]->shard, &direction, want, now_ms(d));
}

static bool ops_relayed(void *ctx, const struct stream_flow *f, uint32_t allowed, uint32_t bytes)
{
	const struct dp *d = ctx;
	const struct turn_tcp_way direction = direction_of(f);
	const struct turn_tcp_bytes n = {.taken = allowed, .moved = bytes};

	return turn_tcp_moved(d->worker[f->worker]->shard, &direction, &n, now_ms(d));
}

const struct stream_relay_ops relay_tcp_ops = {.attempt = ops_attempt,
	.unopened = ops_unopened,
	.device = ops_device,
	.lives = ops_lives,
	.may_be_peer = ops_may_be_peer,
	.counted = ops_counted,
	.allow = ops_allow,
	.relayed = ops_relayed};

// --- configuration -------------------------------------------------------------------------------

struct stream_relay relay_tcp_config(const struct conf *c)
{
	const struct turn_tcp *t = &c->turn.tcp;

	if (!t->enabled)
		return (struct stream_relay){0};
	return (struct stream_relay){.ports = (uint32_t)t->ports_hi - t->ports_lo + 1,
		.connections = t->connections,
		.per_user = t->per_user,
		.per_allocation = t->per_allocation,
		.connects = t->connects,
		.timeout_s = t->timeout_s,
		.buffer = t->buffer,
		.ops = &relay_tcp_ops};
}
