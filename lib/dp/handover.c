// SPDX-License-Identifier: BSD-3-Clause
// Between workers: one single-producer single-consumer ring for every ordered pair, a worker with
// itself included. A full ring is a named drop, never a wait.
#include <rte_errno.h>
#include <rte_malloc.h>

#include "handover.h"
#include "clients/streams.h"
#include "datapath.h"
#include "dp_burst.h"
#include "drop_of.h"
#include "host.h"
#include "mbuf_meta.h"
#include "nexthop.h"
#include "stats.h"
#include "turn.h"
#include "worker.h"

struct rte_ring *handover_ring(unsigned int count, int socket)
{
	// in plain memory: rte_ring_create takes a memzone each, and 64 workers have 4096 rings
	const ssize_t size = rte_ring_get_memsize(count);
	struct rte_ring *r;

	if (size < 0)
		return NULL;
	r = rte_zmalloc_socket("handover", (size_t)size, RTE_CACHE_LINE_SIZE, socket);
	if (r == NULL)
		return NULL;
	if (rte_ring_init(r, "handover", count, RING_F_SP_ENQ | RING_F_SC_DEQ) != 0) {
		rte_free(r);
		return NULL;
	}
	return r;
}

int handover_create(struct dp *d, int socket)
{
	const unsigned int count = rte_align32pow2(RTE_MAX(d->conf->handover_ring, 2u * DP_BURST));

	for (unsigned int from = 0; from < d->nb_workers; from++) {
		for (unsigned int to = 0; to < d->nb_workers; to++) {
			struct rte_ring *r = handover_ring(count, socket);

			if (r == NULL)
				return -ENOMEM;
			d->worker[from]->out[to] = r;
			d->worker[to]->in[from] = r;
		}
	}
	return 0;
}

void handover_free(struct dp *d)
{
	for (unsigned int from = 0; from < d->nb_made; from++)
		for (unsigned int to = 0; to < d->nb_workers; to++)
			rte_free(d->worker[from]->out[to]);
}

static void flush_one(struct worker *w, unsigned int to)
{
	struct outbox *o = &w->hand[to];
	unsigned int n;

	if (o->n == 0)
		return;
	n = rte_ring_sp_enqueue_burst(w->out[to], (void **)o->m, o->n, NULL);
	w->live.handed_out += n;
	for (unsigned int i = n; i < o->n; i++)
		worker_drop(w, o->m[i], DP_DROP_HANDOVER_FULL);
	o->n = 0;
}

static void put(struct worker *w, unsigned int to, struct rte_mbuf *m)
{
	struct outbox *o = &w->hand[to];

	o->m[o->n++] = m;
	if (o->n == DP_BURST)
		flush_one(w, to);
}

void handover_datagram(
	struct worker *w, unsigned int to, struct rte_mbuf *m, const struct turn_view *v)
{
	struct mbuf_meta *p = mbuf_meta_of(m);

	p->kind = MBUF_META_DATAGRAM;
	p->datagram = *v;
	put(w, to, m);
}

void handover_clients(struct worker *w)
{
	const struct turn_burst *b = &w->burst.turn;

	for (unsigned int i = 0; i < b->nb_elsewhere; i++) {
		const unsigned int at = b->elsewhere[i];
		const struct turn_view *v = &b->view[at];

		handover_datagram(w, turn_client_home(v->hash, b->homes), w->burst.m[at], v);
	}
}

void handover_frame(struct worker *w, unsigned int to, struct rte_mbuf *m, uint8_t port)
{
	struct mbuf_meta *p = mbuf_meta_of(m);

	p->kind = MBUF_META_FRAME;
	p->port = port;
	put(w, to, m);
}

void handover_seal(struct worker *w, unsigned int to, struct rte_mbuf *m)
{
	mbuf_meta_of(m)->kind = MBUF_META_SEAL;
	put(w, to, m);
}

void handover_flush(struct worker *w)
{
	for (unsigned int to = 0; to < w->dp->nb_workers; to++)
		flush_one(w, to);
}

unsigned int handover_take(struct worker *w, unsigned int from, struct rte_mbuf **m)
{
	const unsigned int n = rte_ring_sc_dequeue_burst(w->in[from], (void **)m, DP_BURST, NULL);

	if (n > 0)
		w->live.hand_hist[stats_class(n)]++;
	for (unsigned int i = 0; i < n; i++)
		w->live.handed_in += mbuf_meta_is_packet(mbuf_meta_of(m[i])->kind);
	return n;
}

// --- messages: they use the packets' way, so nothing else need be polled ------------------------

static struct rte_mbuf *message_make(struct worker *w, enum mbuf_meta_kind kind)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(w->dp->pool);

	if (m != NULL)
		mbuf_meta_of(m)->kind = (uint8_t)kind;
	return m;
}

// Frees the message when there is no room.
static bool message_send(struct worker *w, unsigned int to, struct rte_mbuf *m)
{
	if (rte_ring_sp_enqueue(w->out[to], m) == 0)
		return true;
	rte_pktmbuf_free(m);
	return false;
}

void message_neighbour(
	struct worker *w, uint8_t port, const struct net_neigh_msg *msg, bool from_ask)
{
	if (w->dp->nb_workers == 1 ||
		!bucket_take(&w->facts, DP_MESSAGE_RATE, DP_MESSAGE_RATE, w->now_ms * BUCKET_MS))
		return;
	for (unsigned int to = 0; to < w->dp->nb_workers; to++) {
		struct rte_mbuf *m = to != w->id ? message_make(w, MBUF_META_NEIGHBOUR) : NULL;

		if (m == NULL)
			continue;
		mbuf_meta_of(m)->port = port;
		mbuf_meta_of(m)->from_ask = from_ask;
		mbuf_meta_of(m)->neighbour = *msg;
		// one that finds no room is not missed: whoever needs the answer asks again
		message_send(w, to, m);
	}
}

bool message_client_ended(struct worker *w, unsigned int to, const struct turn_view *v)
{
	struct rte_mbuf *m = message_make(w, MBUF_META_CLIENT_ENDED);

	if (m == NULL)
		return false;
	mbuf_meta_of(m)->datagram = *v;
	return message_send(w, to, m);
}

static bool note_send(struct worker *w, const struct turn_redirect_note *note)
{
	struct rte_mbuf *m = message_make(w, MBUF_META_REDIRECT);

	if (m == NULL)
		return false;
	mbuf_meta_of(m)->redirect = *note;
	return message_send(w, note->to, m);
}

void message_notes(struct worker *w)
{
	unsigned int sent = 0;

	w->nb_notes +=
		turn_shard_notes(w->shard, w->note + w->nb_notes, DP_NOTES_MAX - w->nb_notes);
	if (likely(w->nb_notes == 0))
		return;
	// in order: the last word on a client must come last
	while (sent < w->nb_notes && note_send(w, &w->note[sent]))
		sent++;
	w->nb_notes -= sent;
	memmove(w->note, w->note + sent, w->nb_notes * sizeof(w->note[0]));
}

void message_apply(struct worker *w, struct rte_mbuf *m)
{
	const struct mbuf_meta *p = mbuf_meta_of(m);

	if (p->kind == MBUF_META_NEIGHBOUR)
		nexthop_learn(w, p->port, &p->neighbour, p->from_ask);
	else if (p->kind == MBUF_META_REDIRECT)
		turn_shard_redirect(w->shard, &p->redirect);
	else
		streams_end(w, &p->datagram);
	rte_pktmbuf_free(m);
}
