// SPDX-License-Identifier: BSD-3-Clause
// Rings between workers: one single-producer single-consumer ring for every ordered pair, including
// a worker with itself. If a ring is full, packets are dropped and counted; no worker waits.
#include <rte_errno.h>
#include <rte_malloc.h>

#include "workers/handover.h"
#include "see/stats.h"
#include "datapath.h"
#include "dp_burst.h"
#include "drop_of.h"
#include "invariant.h"
#include "turn.h"
#include "path/worker.h"
#include "workers/mbuf_meta.h"

struct rte_ring *handover_ring(unsigned int count, int socket)
{
	// in plain memory: rte_ring_create takes a memzone for each, and 64 workers have 4096 rings
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

	d->homes_hashed = true;
	for (unsigned int i = 0; i < d->nb_ports; i++)
		d->homes_hashed &= !d->port[i].rss_home;
	for (unsigned int src = 0; src < d->nb_workers; src++) {
		for (unsigned int dst = 0; dst < d->nb_workers; dst++) {
			struct rte_ring *r = handover_ring(count, socket);

			if (r == NULL)
				return -ENOMEM;
			d->worker[src]->out[dst] = r;
			d->worker[dst]->in[src] = r;
		}
	}
	return 0;
}

void handover_free(struct dp *d)
{
	for (unsigned int src = 0; src < d->nb_made; src++)
		for (unsigned int dst = 0; dst < d->nb_workers; dst++)
			rte_free(d->worker[src]->out[dst]);
}

void handover_flush_one(struct worker *w, unsigned int dst)
{
	struct outbox *o = &w->hand[dst];
	unsigned int n;

	if (o->n == 0)
		return;
	n = rte_ring_sp_enqueue_burst(w->out[dst], (void **)o->m, o->n, NULL);
	ASSERT(n <= o->n && o->n <= DP_BURST);
	w->live.handed_out += n;
	w->kicks |= UINT64_C(1) << dst & w->dp->waiters;
	for (unsigned int i = n; i < o->n; i++)
		worker_drop(w, o->m[i], DP_DROP_HANDOVER_FULL);
	o->n = 0;
}

bool handover_clients(struct worker *w)
{
	const struct turn_burst *b = &w->burst.turn;
	// a local copy: for gcc a write through w might change it
	const unsigned int homes = b->homes;
	const uint8_t *pos = b->elsewhere, *const end = pos + b->nb_elsewhere;

	for (; pos < end; pos++) {
		const struct turn_view *v = &b->view[*pos];

		handover_datagram(w, turn_client_home(v->hash, homes), w->burst.m[*pos], v);
	}
	return (b->nb[TURN_FROM_CLIENT] | b->nb[TURN_FROM_PEER]) != 0;
}

void handover_frame(struct worker *w, unsigned int dst, struct rte_mbuf *m, uint8_t port)
{
	struct mbuf_meta *p = mbuf_meta_of(m);

	p->kind = MBUF_META_FRAME;
	p->port = port;
	handover_put(w, dst, m);
}

void handover_seal(struct worker *w, unsigned int dst, struct rte_mbuf *m)
{
	mbuf_meta_of(m)->kind = MBUF_META_SEAL;
	handover_put(w, dst, m);
}

void handover_icmp(struct worker *w, unsigned int dst, struct rte_mbuf *m)
{
	mbuf_meta_of(m)->kind = MBUF_META_ICMP;
	handover_put(w, dst, m);
}

void handover_flush(struct worker *w)
{
	for (unsigned int dst = 0; dst < w->dp->nb_workers; dst++)
		handover_flush_one(w, dst);
}

unsigned int handover_take(struct worker *w, unsigned int src, struct rte_mbuf **m)
{
	const unsigned int n = rte_ring_sc_dequeue_burst(w->in[src], (void **)m, DP_BURST, NULL);

	if (n > 0)
		w->live.hand_hist[stats_class(n)]++;
	w->live.handed_in += n;
	return n;
}
