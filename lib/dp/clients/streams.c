// SPDX-License-Identifier: BSD-3-Clause
// Clients over TCP and TLS, as workers see them: messages without headers, from and to the rings of
// stream threads (stream_rings.h). streams_ops.c is the threads' side.
#include <rte_malloc.h>

#include "clients/streams.h"
#include "clients/stream_rings.h"
#include "path/backlog.h"
#include "capture/capture.h"
#include "clients/dtls_clients.h"
#include "dp_features.h"
#include "clients/sessions.h"
#include "clients/stream_listeners.h"
#include "conf.h"
#include "see/stats.h"
#include "datapath.h"
#include "dp.h"
#include "dp_burst.h"
#include "dtls.h"
#include "path/rewrite.h"
#include "stream.h"
#include "turn.h"
#include "turn_config.h"
#include "turn_line.h"
#include "turn_mark.h"
#include "turn_relay_map.h"
#include "turn_shard.h"
#include "path/worker.h"
#include "workers/handover.h"
#include "workers/mbuf_meta.h"
#include "workers/messages.h"

#define FILL 480 // limit of empty buffers that wait for a thread
#define FILL_BULK 32
#define FILL_PART 8 // buffers of all threads together: at most 1/FILL_PART of the pool
#define REPLY_TTL 64

// --- the worker's side ---------------------------------------------------------------------------

// NULL for a moment at start, when the threads run but workers do not know them yet.
static struct streams *streams_of(const struct dp *d)
{
	return __atomic_load_n(&d->streams, __ATOMIC_ACQUIRE);
}

static void fill_ring(struct worker *w, const struct stream_rings *y)
{
	const unsigned int n = RTE_MIN(y->fill_max, (uint32_t)FILL_BULK);
	struct rte_mbuf *m[FILL_BULK];

	// if the pool is empty, threads stop reading until it has buffers: nothing is lost
	if (rte_ring_count(y->fill) + n <= y->fill_max &&
		rte_pktmbuf_alloc_bulk(w->dp->pool, m, n) == 0)
		rte_ring_sp_enqueue_bulk(y->fill, (void **)m, n, NULL);
}

// Ends the allocation of a closed connection, unless it may move.
void streams_end(struct worker *w, const struct turn_view *v)
{
	uint32_t left_ms;
	const uint32_t slot = turn_shard_client(w->shard, v, &left_ms);

	if (slot == TURN_NONE || w->stream_at[slot] == v->stream)
		turn_shard_lost(w->shard, v, slot);
}

unsigned int streams_take(
	struct worker *w, unsigned int thread, struct rte_mbuf **m, unsigned int *taken)
{
	const struct stream_rings *y = stream_rings_of(w->dp, thread, w->id);
	unsigned int n = 0, kept = 0;

	fill_ring(w, y);
	w->nb_ended = 0;
	if (likely(backlog_has_room(&w->backlog)))
		n = rte_ring_sc_dequeue_burst(y->up, (void **)m, DP_BURST, NULL);
	for (unsigned int i = 0; i < n; i++) {
		const struct mbuf_meta *p = mbuf_meta_of(m[i]);

		if (p->kind == MBUF_META_STREAM) {
			w->live.rx++;
			w->live.rx_bytes += p->datagram.len;
			m[kept++] = m[i];
			w->streamed++;
			continue;
		}
		if (p->kind == MBUF_META_DTLS || p->kind == MBUF_META_DTLS_NOTE) {
			dtls_clients_from_thread(w, m[i]);
			continue;
		}
#define X(message, type, field, take) \
	if (p->kind == (message)) {   \
		take(w, m[i]);        \
		continue;             \
	}
		DP_UP(X)
#undef X
		if (p->kind == MBUF_META_STREAM_ENDED)
			w->ended[w->nb_ended++] = p->datagram;
		rte_pktmbuf_free(m[i]);
	}
	if (kept > 0) {
		w->live.rx_bursts++;
		w->live.rx_hist[stats_class(kept)]++;
	}
	*taken = n;
	return kept;
}

void streams_asked(struct worker *w, const struct turn_view *v)
{
	struct stream_rings *y = stream_rings_of(w->dp, stream_thread_of(v->stream), w->id);

	__atomic_store_n(&y->done, y->done + 1, __ATOMIC_RELEASE);
}

void streams_settle(struct worker *w)
{
	for (unsigned int i = 0; i < w->nb_ended; i++)
		streams_end(w, &w->ended[i]);
	if (w->nb_ended > 0)
		messages_notes(w);
}

// Captures the message in m to a client.
static void capture_outgoing(
	struct worker *w, const struct rte_mbuf *m, const struct turn_view *client)
{
	struct turn_view v = *client;

	v.data = rte_pktmbuf_mtod(m, const uint8_t *);
	v.len = m->data_len;
	capture_message(w, DP_CAPTURE_STREAM_OUT, &v);
}

// True if the ring down has room for media of an allocation: it may have as many entries as are
// left free. So any number of allocations that send too much leave room for those that send little.
static bool has_media_room(const struct stream_rings *y, struct stream_share *s)
{
	const uint32_t there = rte_ring_count(y->down);

	if (there >= y->media_max)
		return false;
	if (y->put - there >= s->since) {
		s->before = s->now; // entries put before s->since have been taken
		s->now = 0;
		s->since = y->put;
	}
	return s->before + s->now < y->media_max - there;
}

// Puts a message into the ring down. share: that of its allocation for media, else NULL.
static void put_down(struct worker *w, struct rte_mbuf *m, const struct stream_down *down,
	struct stream_share *share)
{
	const unsigned int t = stream_thread_of(down->conn);
	struct stream_rings *y = stream_rings_of(w->dp, t, w->id);
	struct mbuf_meta *p = mbuf_meta_of(m);
	const uint32_t len = m->pkt_len;

	p->kind = MBUF_META_STREAM;
	p->to_stream = *down;
	if ((share != NULL && !has_media_room(y, share)) || rte_ring_sp_enqueue(y->down, m) != 0) {
		worker_drop(w, m, DP_DROP_STREAM_FULL);
		return;
	}
	y->put++;
	if (share != NULL)
		share->now++;
	w->live.tx++;
	w->live.tx_bytes += len;
	w->streamed++;
	w->stream_wake |= 1u << t;
}

bool streams_give(struct worker *w, unsigned int thread, struct rte_mbuf *m)
{
	const struct stream_rings *y = stream_rings_of(w->dp, thread, w->id);
	const bool note = mbuf_meta_of(m)->kind == MBUF_META_DTLS_NOTE;

	if ((!note && rte_ring_count(y->handshakes) >= STREAM_RINGS_HANDSHAKES) ||
		rte_ring_sp_enqueue(y->handshakes, m) != 0)
		return false;
	w->stream_wake |= 1u << thread;
	return true;
}

void streams_connect(struct worker *w, uint32_t slot, uint64_t conn)
{
	if (w->stream_at[slot] == conn)
		return;
	w->stream_at[slot] = conn;
	w->stream_share[slot] = (struct stream_share){0};
}

uint32_t streams_lease(struct worker *w, const struct turn_view *v, bool alive)
{
	uint32_t left_ms, sibling;
	const uint32_t slot = turn_shard_client(w->shard, v, &left_ms);

	if (slot == TURN_NONE && alive) // the allocation may be about to move here
		return (turn_shard_path(w->shard, v) + 999) / 1000;
	if (slot == TURN_NONE) {
		turn_shard_lost(w->shard, v, TURN_NONE);
		return 0;
	}
	streams_connect(w, slot, v->stream);
	sibling = turn_shard_sibling(w->shard, slot);
	if (sibling != TURN_NONE)
		streams_connect(w, sibling, v->stream);
	if (alive)
		return (left_ms + 999) / 1000;
	turn_shard_lost(w->shard, v, slot);
	return 0;
}

// If the allocation was made after its connection was closed (and that was reported), it ends at
// once.
static uint32_t lease_of(struct worker *w, const struct turn_view *v)
{
	const struct streams *s = streams_of(w->dp);

	return streams_lease(w, v, s == NULL || stream_alive(s, v->stream));
}

void streams_reply(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	const uint8_t *answer, uint16_t len)
{
	uint8_t *dst = (uint8_t *)m->buf_addr + RTE_PKTMBUF_HEADROOM;
	const uint32_t lease_s = lease_of(w, v);

	if (RTE_PKTMBUF_HEADROOM + len > m->buf_len) {
		worker_drop(w, m, DP_DROP_HEADROOM);
		return;
	}
	memcpy(dst, answer, len);
	rewrite_set_frame(m, dst, len);
	if (unlikely(w->capture != NULL))
		capture_outgoing(w, m, v);
	put_down(w, m,
		&(struct stream_down){
			.conn = v->stream, .lease_s = lease_s, .kind = MBUF_META_ANSWER},
		NULL);
}

void streams_send(
	struct worker *w, struct rte_mbuf *m, const struct turn_view *v, enum mbuf_meta_down kind)
{
	put_down(w, m,
		&(struct stream_down){
			.conn = v->stream, .lease_s = lease_of(w, v), .kind = (uint8_t)kind},
		NULL);
}

void streams_forward(
	struct worker *w, struct rte_mbuf *m, const struct turn_view *v, const struct rewrite *r)
{
	uint8_t *start = (uint8_t *)(uintptr_t)v->data + r->off - r->front_len;
	const uint8_t *first = m->buf_addr;
	const struct turn_line *l = &w->lines[v->slot];
	// RFC 8656 12.5; in a Data indication this is the padding of DATA
	const uint16_t pad = -r->len & 3;
	const uint32_t len = (uint32_t)r->front_len + r->len + pad;

	if (start < first || start + len > first + m->buf_len) {
		worker_drop(w, m, DP_DROP_HEADROOM);
		return;
	}
	memcpy(start, r->front, r->front_len);
	memset(start + r->front_len + r->len, 0, pad);
	rewrite_set_frame(m, start, len);
	if (unlikely(w->capture != NULL))
		capture_outgoing(w, m,
			&(struct turn_view){.src = l->end[TURN_FROM_CLIENT],
				.mark = l->mark[TURN_FROM_CLIENT] & TURN_MARK_CLIENT});
	put_down(w, m,
		&(struct stream_down){.conn = w->stream_at[v->slot], .kind = MBUF_META_MEDIA},
		&w->stream_share[v->slot]);
}

void streams_describe(const struct rte_mbuf *m, const struct turn_view *v, struct net_frame *f)
{
	const uint8_t *data = rte_pktmbuf_mtod(m, const uint8_t *);

	// RFC 8656 15: the connection's DSCP, Not-ECT, DF only if DONT-FRAGMENT requests it
	*f = (struct net_frame){.src = v->src,
		.sport = v->src_port,
		.payload_off = (uint16_t)(v->data - data),
		.payload_len = v->len,
		.tos = v->tos,
		.ttl = REPLY_TTL + 1};
}

const char *streams_cipher(const struct worker *w, uint64_t conn)
{
	const struct streams *s = streams_of(w->dp);

	return s != NULL ? stream_cipher(s, conn) : NULL;
}

void streams_wake(struct worker *w)
{
	struct streams *s = streams_of(w->dp);

	for (uint32_t left = w->stream_wake; left != 0 && s != NULL; left &= left - 1)
		stream_wake(s, (unsigned int)__builtin_ctz(left));
	w->stream_wake = 0;
}

// --- start and end -------------------------------------------------------------------------------

static bool streams_wanted(const struct conf *c)
{
	return stream_listeners(c, NULL) > 0 || sessions_config(c).sessions > 0;
}

// Number of requests of a thread that may wait on a worker. All threads together have half of the
// room in its backlog. The rest is for datagrams that their clients send after the requests.
static uint32_t asks_max(const struct conf *c)
{
	const uint32_t most = RTE_MIN(c->backlog / c->streams.threads, c->streams.ring) / 2;

	return RTE_MAX(most, 1u);
}

static struct rte_ring *create_ring(uint32_t count, int socket)
{
	return handover_ring(rte_align32pow2(count + 1), socket);
}

// Entries of a ring down: media, then messages of features, and then answers.
static uint32_t down_of(const struct conf *c)
{
#define X(kind, message, room) +(room)
	return rte_align32pow2(c->streams.ring) DP_DOWN(X) + asks_max(c) + DP_BURST;
#undef X
}

// Limit of empty buffers in one of `rings` rings. Without it, many workers and threads together
// could hold the whole pool, and none would be left for packets.
static uint32_t fill_max(const struct conf *c, size_t rings)
{
	const uint32_t share = (uint32_t)(c->mbufs / FILL_PART / rings);

	return RTE_MAX(RTE_MIN(share, (uint32_t)FILL), 1u);
}

int streams_create(struct dp *d, int socket)
{
	const struct conf *c = d->conf;
	const size_t nb = (size_t)c->streams.threads * d->nb_workers;

	if (!streams_wanted(c))
		return 0;
	d->stream_rings = rte_zmalloc_socket(
		"streams", nb * sizeof(*d->stream_rings), RTE_CACHE_LINE_SIZE, socket);
	if (d->stream_rings == NULL)
		return -ENOMEM;
	d->nb_streams = c->streams.threads;
	for (size_t i = 0; i < nb; i++) {
		struct stream_rings *y = &d->stream_rings[i];

		y->up = create_ring(c->streams.ring, socket);
		y->down = create_ring(down_of(c), socket);
		y->handshakes = create_ring(STREAM_RINGS_HANDSHAKES + STREAM_RINGS_NOTES, socket);
		y->fill = create_ring(FILL, socket);
		y->fill_max = fill_max(c, nb);
		y->asks_max = asks_max(c);
		y->media_max = rte_align32pow2(c->streams.ring);
		if (y->up == NULL || y->down == NULL || y->handshakes == NULL || y->fill == NULL)
			return -ENOMEM;
	}
	for (unsigned int w = 0; w < d->nb_workers; w++) {
		const uint32_t slots = turn_relay_map_slots(d->map, w);
		const int near = (int)rte_lcore_to_socket_id(d->worker[w]->lcore);

		d->worker[w]->stream_at = rte_zmalloc_socket(
			"streams", slots * sizeof(uint64_t), RTE_CACHE_LINE_SIZE, near);
		d->worker[w]->stream_share = rte_zmalloc_socket(
			"streams", slots * sizeof(struct stream_share), RTE_CACHE_LINE_SIZE, near);
		if (d->worker[w]->stream_at == NULL || d->worker[w]->stream_share == NULL)
			return -ENOMEM;
	}
	return 0;
}

void streams_config(struct dp *d, const struct conf *c, struct streams_listeners *listeners,
	struct stream_config *out)
{
	dp_identities(c, &listeners->identities);
	*out = (struct stream_config){.listeners = listeners->list,
		.nb_listeners = stream_listeners(c, listeners->list),
		.identities = &listeners->identities,
		.threads = c->streams.threads,
		.workers = d->nb_workers,
		.netns = c->streams.netns,
		.connections = c->streams.connections,
		.per_source = c->streams.per_source,
		.per_network = c->streams.per_network,
		.trusted = c->streams.trusted,
		.nb_trusted = c->streams.nb_trusted,
		.headers = c->streams.headers,
		.idle_s = c->streams.idle_s,
		.handshake_s = c->streams.handshake_s,
		.handshakes = c->handshakes,
		.nap_us = c->idle == CONF_IDLE_SAVING ? c->idle_sleep_us : 0,
		.queue = c->streams.queue,
		.room = (uint16_t)RTE_MIN(dp_data_room(c) - (uint32_t)STREAM_RINGS_MESSAGE_AT,
			(uint32_t)STREAM_ROOM_MAX),
		.dtls = sessions_config(c),
#define X(field, config) .field = config(c),
		DP_STREAMS(X)
#undef X
			.ops = &streams_ops,
		.ctx = d};
}

int streams_start(struct dp *d, char *error, size_t len)
{
	struct streams_listeners listeners;
	struct stream_config sc;
	struct streams *s;

	if (!streams_wanted(d->conf))
		return 0;
	streams_config(d, d->conf, &listeners, &sc);
	s = stream_start(&sc, error, len);
	__atomic_store_n(&d->streams, s, __ATOMIC_RELEASE);
	return s != NULL ? 0 : -1;
}

void streams_stop(struct dp *d)
{
	if (d->streams != NULL)
		stream_stop(d->streams);
	d->streams = NULL;
}

static void ring_drain(struct rte_ring *r)
{
	void *m;

	while (r != NULL && rte_ring_sc_dequeue(r, &m) == 0) {
		if (mbuf_meta_of(m)->kind == MBUF_META_DTLS_NOTE)
			dtls_session_free(mbuf_meta_of(m)->dtls.session);
		rte_pktmbuf_free(m);
	}
}

// Frees buffers without a kind in their metadata.
static void fill_drain(struct rte_ring *r)
{
	void *m;

	while (r != NULL && rte_ring_sc_dequeue(r, &m) == 0)
		rte_pktmbuf_free(m);
}

// Messages on the way up have not been counted yet; messages on the way down have.
void streams_drain(struct dp *d)
{
	for (unsigned int i = 0; i < d->nb_streams * d->nb_workers; i++) {
		struct stream_rings *y = &d->stream_rings[i];

		ring_drain(y->up);
		ring_drain(y->down);
		ring_drain(y->handshakes);
		fill_drain(y->fill);
		while (y->nb_spare > 0)
			rte_pktmbuf_free(y->spare[--y->nb_spare]);
	}
}

void streams_free(struct dp *d)
{
	for (unsigned int i = 0; i < d->nb_streams * d->nb_workers; i++) {
		rte_free(d->stream_rings[i].up);
		rte_free(d->stream_rings[i].down);
		rte_free(d->stream_rings[i].handshakes);
		rte_free(d->stream_rings[i].fill);
	}
	for (unsigned int w = 0; w < d->nb_made; w++) {
		rte_free(d->worker[w]->stream_at);
		rte_free(d->worker[w]->stream_share);
	}
	rte_free(d->stream_rings);
}

size_t streams_size(const struct conf *c)
{
	const ssize_t up = rte_ring_get_memsize(rte_align32pow2(c->streams.ring + 1));
	const ssize_t down = rte_ring_get_memsize(rte_align32pow2(down_of(c) + 1));
	const ssize_t handshakes = rte_ring_get_memsize(
		rte_align32pow2(STREAM_RINGS_HANDSHAKES + STREAM_RINGS_NOTES + 1));
	const ssize_t empty = rte_ring_get_memsize(rte_align32pow2(FILL + 1));

	if (!streams_wanted(c))
		return 0;
	return (size_t)c->streams.threads * c->workers *
		((size_t)up + (size_t)down + (size_t)handshakes + (size_t)empty +
			sizeof(struct stream_rings));
}

size_t streams_slots_size(const struct conf *c, uint32_t slots)
{
	return streams_wanted(c) ? slots * (sizeof(uint64_t) + sizeof(struct stream_share)) : 0;
}

// --- for the management lcore --------------------------------------------------------------------

bool dp_streams(const struct dp *d, struct stream_stats *out)
{
	if (d->streams == NULL)
		return false;
	stream_stats(d->streams, out);
	return true;
}

int dp_streams_reload(struct dp *d, char *error, size_t len)
{
	return d->streams != NULL ? stream_tls_reload(d->streams, error, len) : 0;
}

bool dp_certificate(const struct dp *d, unsigned int index, struct stream_certificate *out)
{
	return d->streams != NULL && stream_certificate(d->streams, index, out);
}
