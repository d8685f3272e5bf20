// SPDX-License-Identifier: BSD-3-Clause
// Requests that wait for an answer about their user (parking.h). When it has come, or its deadline
// has passed, they are routed again, as if they had just been received.
#include "features/lookup/parking.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_ring_elem.h>

#include "ask/hot.h"
#include "datapath.h"
#include "dp_burst.h"
#include "dp_drop.h"
#include "invariant.h"
#include "path/worker.h"
#include "turn_config.h"
#include "turn_mark.h"
#include "workers/mbuf_meta.h"

#define NONE UINT16_MAX
#define ANSWERS 32 // in a round
#define SECRETS 16 // in a round
#define OVERDUE 64 // questions in a round

static uint32_t buckets_of(const struct turn_lookup *l)
{
	return rte_align32pow2(2 * l->waiting);
}

static size_t mem_size(const struct turn_lookup *l)
{
	return sizeof(struct parking) + l->waiting * sizeof(struct parked) +
		(l->questions + buckets_of(l)) * sizeof(uint16_t);
}

size_t parking_size(const struct conf *c, const struct turn_relay_map *map)
{
	const struct turn_lookup *l = &c->turn.lookup;

	return l->enabled ? c->workers * (mem_size(l) + lookup_rings_size(c)) : 0;
}

int parking_make(struct worker *w)
{
	const struct turn_lookup *l = &w->dp->conf->turn.lookup;
	const int socket = (int)rte_lcore_to_socket_id(w->lcore);
	struct parking *p;

	if (!w->dp->lookups.on)
		return 0;
	p = rte_zmalloc_socket("parking", mem_size(l), RTE_CACHE_LINE_SIZE, socket);
	if (p == NULL)
		return -ENOMEM;
	w->dp->lookups.parking[w->id] = w->parking = p;
	if (!lookup_rings_make(&p->rings, w->dp->conf, socket))
		return -ENOMEM;
	p->parked = (struct parked *)(p + 1);
	p->by_question = (uint16_t *)(p->parked + l->waiting);
	p->by_client = p->by_question + l->questions;
	p->nb_buckets = buckets_of(l);
	memset(p->by_question, 0xff, (l->questions + p->nb_buckets) * sizeof(uint16_t));
	p->ready = p->last_ready = NONE;
	for (uint32_t i = 0; i < l->waiting; i++)
		p->parked[i].next = i + 1 < l->waiting ? (uint16_t)(i + 1) : NONE;
	return 0;
}

void parking_close(struct dp *d)
{
	struct lookups *y = &d->lookups;

	for (unsigned int i = 0; i < RTE_DIM(y->parking); i++) {
		if (y->parking[i] == NULL)
			continue;
		lookup_rings_free(&y->parking[i]->rings);
		rte_free(y->parking[i]);
	}
	if (y->on)
		close(y->event);
}

static uint16_t *bucket_of(struct parking *p, uint64_t hash)
{
	return &p->by_client[hash & (p->nb_buckets - 1)];
}

// True if a request of the client waits.
static bool has_client(struct parking *p, const struct turn_view *v)
{
	for (uint16_t i = *bucket_of(p, v->hash); i != NONE; i = p->parked[i].next_client) {
		const struct turn_view *waiting = &mbuf_meta_of(p->parked[i].m)->datagram;

		if (p->parked[i].hash == v->hash && addr_eq(&waiting->src, &v->src) &&
			((waiting->mark ^ v->mark) & TURN_MARK_CLIENT) == 0)
			return true;
	}
	return false;
}

void parking_put(struct worker *w, struct rte_mbuf *m, const struct turn_view *v, uint32_t place)
{
	struct parking *p = w->parking;
	const uint16_t i = p->free;
	struct turn_view *kept = &mbuf_meta_of(m)->datagram;
	struct parked *k;
	uint16_t *bucket;

	if (has_client(p, v)) {
		worker_drop(w, m, DP_DROP_LOOKUP_WAITS);
		return;
	}
	if (i == NONE) {
		worker_drop(w, m, DP_DROP_LOOKUP_ROOM);
		return;
	}
	k = &p->parked[i];
	bucket = bucket_of(p, v->hash);
	p->free = k->next;
	*k = (struct parked){
		.m = m, .hash = v->hash, .next = p->by_question[place], .next_client = *bucket};
	p->by_question[place] = i;
	*bucket = i;
	*kept = *v;
	kept->flags |= TURN_VIEW_WAITED;
	p->nb++;
}

// Makes the requests with a question ready.
static void release_all(struct parking *p, uint32_t place)
{
	uint16_t next;

	for (uint16_t i = p->by_question[place]; i != NONE; i = next) {
		next = p->parked[i].next;
		p->parked[i].next = NONE;
		if (p->last_ready == NONE)
			p->ready = i;
		else
			p->parked[p->last_ready].next = i;
		p->last_ready = i;
		p->nb_ready++;
	}
	p->by_question[place] = NONE;
}

// Removes the oldest request that is ready.
static struct rte_mbuf *pop_ready(struct parking *p)
{
	const uint16_t i = p->ready;
	struct parked *k = &p->parked[i];
	uint16_t *link = bucket_of(p, k->hash);

	ASSERT(i != NONE && p->nb > 0 && p->nb_ready > 0);
	while (*link != i)
		link = &p->parked[*link].next_client;
	*link = k->next_client;
	p->ready = k->next;
	if (p->ready == NONE)
		p->last_ready = NONE;
	k->next = p->free;
	p->free = i;
	p->nb--;
	p->nb_ready--;
	return k->m;
}

static void take_answers(struct worker *w)
{
	struct parking *p = w->parking;
	struct turn_lookup_answer a[ANSWERS];
	struct turn_lookup_secret secret;
	const unsigned int n =
		rte_ring_sc_dequeue_burst_elem(p->rings.answers, a, sizeof(a[0]), ANSWERS, NULL);
	uint32_t place;

	for (unsigned int i = 0; i < n; i++)
		if (turn_lookup_answered(w->shard, &a[i]))
			release_all(p, turn_lookup_place(a[i].id));
	for (unsigned int i = 0; i < SECRETS &&
		rte_ring_sc_dequeue_elem(p->rings.secrets, &secret, sizeof(secret)) == 0;
		i++) {
		turn_lookup_secret(w->shard, &secret);
		explicit_bzero(&secret, sizeof(secret));
	}
	for (unsigned int i = 0; i < OVERDUE; i++) {
		place = turn_lookup_overdue(w->shard);
		if (place == TURN_NONE)
			break;
		release_all(p, place);
	}
	explicit_bzero(a, n * sizeof(a[0]));
}

unsigned int parking_take(struct worker *w)
{
	struct parking *p = w->parking;
	const unsigned int most = w->hot->requests;

	take_answers(w);
	w->burst.n = 0;
	while (p->nb_ready > 0 && w->burst.n < most) {
		struct rte_mbuf *m = pop_ready(p);

		w->burst.turn.view[w->burst.n] = mbuf_meta_of(m)->datagram;
		w->burst.m[w->burst.n++] = m;
	}
	return w->burst.n;
}

void parking_drain(struct worker *w)
{
	struct parking *p = w->parking;

	for (uint32_t i = 0; p != NULL && i < w->dp->conf->turn.lookup.questions; i++)
		release_all(p, i);
	while (p != NULL && p->nb_ready > 0)
		worker_drop(w, pop_ready(p), DP_DROP_STOPPING);
}
