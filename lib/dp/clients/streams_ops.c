// SPDX-License-Identifier: BSD-3-Clause
// Clients over TCP and TLS, as their threads see the workers: the callbacks of lib/stream (struct
// stream_ops), over the rings of stream_rings.h.
#include "clients/stream_rings.h"
#include "clients/streams.h"
#include "see/event_rings.h"
#include "dp_burst.h"
#include "dp_view.h"
#include "steering/steer.h"
#include "stream.h"
#include "turn_blocks.h"
#include "turn_policy.h"
#include "workers/mbuf_meta.h"

#define SHAKES_PART 8 // handshakes have 1/SHAKES_PART of the entries taken at a time

static unsigned int ops_home(void *ctx, const struct endpoint *client, uint8_t listener)
{
	return steer_keyed_home(ctx, &client->addr, client->port, listener);
}

static bool ops_take(void *ctx, unsigned int t, unsigned int w, struct stream_message *m)
{
	struct stream_rings *y = stream_rings_of(ctx, t, w);
	void *b;

	if (rte_ring_free_count(y->up) <= y->held) {
		stream_rings_kick(ctx, w);
		return false;
	}
	if (y->nb_spare > 0) {
		b = y->spare[--y->nb_spare];
	} else if (rte_ring_sc_dequeue(y->fill, &b) != 0) {
		stream_rings_kick(ctx, w); // its rounds fill the ring
		return false;
	}
	y->held++;
	m->buf = b;
	m->data = (uint8_t *)((struct rte_mbuf *)b)->buf_addr + STREAM_RINGS_MESSAGE_AT;
	return true;
}

// Every waiting request must find room for its answer in the ring down, in addition to the answers
// to a burst of requests that have left the backlog and are not answered yet.
static bool ops_may_ask(void *ctx, unsigned int t, unsigned int w)
{
	const struct dp *d = ctx;
	const struct stream_rings *y = stream_rings_of(d, t, w);
	const uint32_t waiting = y->asked - __atomic_load_n(&y->done, __ATOMIC_ACQUIRE);

	return waiting < y->asks_max && waiting + DP_BURST < rte_ring_free_count(y->down);
}

static void put_up(struct stream_rings *y, const struct stream_message *m,
	const struct stream_from *sender, enum mbuf_meta_kind kind)
{
	struct rte_mbuf *b = m->buf;
	struct mbuf_meta *p = mbuf_meta_of(b);

	p->kind = (uint8_t)kind;
	p->datagram = (struct turn_view){.src = sender->client.addr,
		.src_port = sender->client.port,
		.listener = sender->listener,
		.len = m->len,
		.leg = TURN_FROM_CLIENT,
		.data = m->data,
		.flags = DP_STREAM,
		.tos = sender->tos,
		.via = TURN_NO_WORKER,
		.stream = sender->conn};
	rewrite_set_frame(b, m->data, m->len);
	y->asked += dp_view_is_request(&p->datagram);
	stream_rings_put_up(y, b);
}

static void ops_send(void *ctx, unsigned int t, unsigned int w, const struct stream_message *m,
	const struct stream_from *sender)
{
	put_up(stream_rings_of(ctx, t, w), m, sender, MBUF_META_STREAM);
}

static void ops_kick(void *ctx, unsigned int w)
{
	stream_rings_kick(ctx, w);
}

static void ops_rouse(void *ctx, unsigned int w)
{
	const struct dp *d = ctx;

	waiter_rouse(&d->worker[w]->waiter);
}

static bool ops_ended(void *ctx, unsigned int t, unsigned int w, const struct stream_from *sender)
{
	struct stream_message m;

	if (!ops_take(ctx, t, w, &m))
		return false;
	m.len = 0;
	put_up(stream_rings_of(ctx, t, w), &m, sender, MBUF_META_STREAM_ENDED);
	stream_rings_kick(ctx, w);
	return true;
}

// Takes entries from the rings to the thread. Handshakes have a guaranteed part, and the room that
// media leaves.
static unsigned int take_down(const struct stream_rings *y, struct rte_mbuf **b, unsigned int n)
{
	const unsigned int part = RTE_MAX(n / SHAKES_PART, RTE_MIN(n, 1u));
	unsigned int got = rte_ring_sc_dequeue_burst(y->handshakes, (void **)b, part, NULL);

	got += rte_ring_sc_dequeue_burst(y->down, (void **)(b + got), n - got, NULL);
	got += rte_ring_sc_dequeue_burst(y->handshakes, (void **)(b + got), n - got, NULL);
	return got;
}

// The kind for the thread (enum stream_kind) of a message from a worker.
static uint8_t kind_of(uint8_t down)
{
#define X(kind, message, room) \
	if (down == (kind))    \
		return (message);
	DP_DOWN(X)
#undef X
	return STREAM_BYTES;
}

// Takes at most as many entries as the ring up has room for: each buffer may have to go back there.
static unsigned int ops_receive(
	void *ctx, unsigned int t, unsigned int w, struct stream_message *m, unsigned int n)
{
	struct stream_rings *y = stream_rings_of(ctx, t, w);
	const unsigned int room = rte_ring_free_count(y->up) - y->held;
	struct rte_mbuf *b[STREAM_BURST];

	if (unlikely(room == 0))
		stream_rings_kick(ctx, w);
	n = take_down(y, b, RTE_MIN(RTE_MIN(n, room), (unsigned int)STREAM_BURST));
	y->held += n;
	for (unsigned int i = 0; i < n; i++) {
		const struct mbuf_meta *p = mbuf_meta_of(b[i]);

		m[i] = (struct stream_message){.buf = b[i],
			.data = rte_pktmbuf_mtod(b[i], uint8_t *),
			.len = b[i]->data_len};
		if (p->kind == MBUF_META_STREAM) {
			m[i].media = p->to_stream.kind == MBUF_META_MEDIA;
			m[i].kind = kind_of(p->to_stream.kind);
			m[i].conn = p->to_stream.conn;
			m[i].lease_s = p->to_stream.lease_s;
			continue;
		}
		m[i].kind = p->dtls.kind;
		m[i].conn = p->dtls.conn;
		m[i].source = p->dtls.source;
		m[i].listener = p->dtls.listener;
		m[i].session = p->dtls.session;
	}
	return n;
}

static void put_dtls(void *ctx, unsigned int t, unsigned int w, const struct stream_message *m,
	enum mbuf_meta_kind kind)
{
	struct rte_mbuf *b = m->buf;
	struct mbuf_meta *p = mbuf_meta_of(b);

	p->kind = (uint8_t)kind;
	p->dtls.conn = m->conn;
	p->dtls.session = m->session;
	p->dtls.kind = m->kind;
	rewrite_set_frame(b, m->data, m->len);
	stream_rings_put_up(stream_rings_of(ctx, t, w), b);
	stream_rings_kick(ctx, w);
}

static void ops_datagram(void *ctx, unsigned int t, unsigned int w, const struct stream_message *m)
{
	put_dtls(ctx, t, w, m, MBUF_META_DTLS);
}

static bool ops_handshake_ended(
	void *ctx, unsigned int t, unsigned int w, uint64_t conn, struct dtls_session *s)
{
	struct stream_message m;

	if (!ops_take(ctx, t, w, &m))
		return false;
	m.conn = conn;
	m.session = s;
	m.len = 0;
	m.kind = STREAM_HANDSHAKE;
	put_dtls(ctx, t, w, &m, MBUF_META_DTLS_NOTE);
	return true;
}

static void ops_release(void *ctx, unsigned int t, unsigned int w, void *buf)
{
	const struct dp *d = ctx;
	struct stream_rings *y = stream_rings_of(d, t, w);
	struct rte_mbuf *b = buf;

	// long buffers of reassembled datagrams are few
	if (y->nb_spare < STREAM_RINGS_SPARE && b->pool == d->pool && RTE_MBUF_DIRECT(b) &&
		rte_mbuf_refcnt_read(b) == 1) {
		y->spare[y->nb_spare++] = b;
		y->held--;
		return;
	}
	mbuf_meta_of(b)->kind = MBUF_META_BUFFER;
	stream_rings_put_up(y, b);
}

// Before all workers have the next policy or blocks, these hold already. The lock keeps them alive.
static enum stream_refusal ops_refuses(void *ctx, const struct addr *client)
{
	struct dp *d = ctx;
	enum stream_refusal refusal = STREAM_REFUSAL_END;

	pthread_mutex_lock(&d->policy_lock);
	if (!turn_policy_serves(d->policy_next != NULL ? d->policy_next : d->policy, client))
		refusal = STREAM_REFUSED_DENIED;
	else if (turn_blocks_addr(d->blocks.shown, client))
		refusal = STREAM_REFUSED_BLOCKED;
	pthread_mutex_unlock(&d->policy_lock);
	return refusal;
}

static bool ops_refused(void *ctx, unsigned int t, const struct stream_refused *r)
{
	return events_put_refused(ctx, t, r);
}

const struct stream_ops streams_ops = {.home = ops_home,
	.may_ask = ops_may_ask,
	.take = ops_take,
	.send = ops_send,
	.kick = ops_kick,
	.rouse = ops_rouse,
	.ended = ops_ended,
	.receive = ops_receive,
	.release = ops_release,
	.datagram = ops_datagram,
	.handshake_ended = ops_handshake_ended,
	.refuses = ops_refuses,
	.refused = ops_refused};
