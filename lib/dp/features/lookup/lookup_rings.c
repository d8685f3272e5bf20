// SPDX-License-Identifier: BSD-3-Clause
// Carries questions about users from workers to the thread that asks, and answers back. Each ring
// has one producer and one consumer.
#include "features/lookup/lookup_rings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#include <rte_malloc.h>
#include <rte_ring.h>
#include <rte_ring_elem.h>

#include "datapath.h"
#include "dp_lookup.h"
#include "features/lookup/parking.h"
#include "path/worker.h"

#define QUESTIONS 2048 // entries: the thread takes them within a millisecond
#define SECRETS 256
#define QUESTION_SIZE sizeof(struct dp_lookup_question)
#define ANSWER_SIZE sizeof(struct turn_lookup_answer)
#define SECRET_SIZE RTE_ALIGN_CEIL(sizeof(struct turn_lookup_secret), 4)

_Static_assert(QUESTION_SIZE % 4 == 0 && ANSWER_SIZE % 4 == 0, "elements of rte_ring");
_Static_assert(sizeof(struct turn_lookup_secret) % 4 == 0, "elements of rte_ring");

static struct rte_ring *make_ring(unsigned int size, unsigned int count, int socket)
{
	const ssize_t bytes = rte_ring_get_memsize_elem(size, count);
	struct rte_ring *r = bytes > 0
		? rte_zmalloc_socket("lookup", (size_t)bytes, RTE_CACHE_LINE_SIZE, socket)
		: NULL;

	if (r != NULL && rte_ring_init(r, "lookup", count, RING_F_SP_ENQ | RING_F_SC_DEQ) != 0) {
		rte_free(r);
		return NULL;
	}
	return r;
}

static unsigned int nb_answers(const struct conf *c)
{
	return rte_align32pow2(c->turn.lookup.questions + 1);
}

bool lookup_rings_make(struct lookup_rings *r, const struct conf *c, int socket)
{
	r->questions = make_ring(QUESTION_SIZE, QUESTIONS, socket);
	r->answers = make_ring(ANSWER_SIZE, nb_answers(c), socket);
	r->secrets = make_ring(SECRET_SIZE, SECRETS, socket);
	r->nb_places = c->turn.lookup.questions;
	r->taken = rte_zmalloc_socket("lookup", r->nb_places * sizeof(*r->taken), 0, socket);
	return r->questions != NULL && r->answers != NULL && r->secrets != NULL && r->taken != NULL;
}

void lookup_rings_free(struct lookup_rings *r)
{
	rte_free(r->questions);
	rte_free(r->answers);
	rte_free(r->secrets);
	rte_free(r->taken);
}

size_t lookup_rings_size(const struct conf *c)
{
	return (size_t)rte_ring_get_memsize_elem(QUESTION_SIZE, QUESTIONS) +
		(size_t)rte_ring_get_memsize_elem(ANSWER_SIZE, nb_answers(c)) +
		(size_t)rte_ring_get_memsize_elem(SECRET_SIZE, SECRETS) +
		c->turn.lookup.questions * sizeof(struct lookup_taken);
}

bool lookup_rings_begin(
	struct dp *d, const struct conf *c, const struct conf *before, char *error, size_t len)
{
	struct lookups *y = &d->lookups;

	if (before != NULL)
		return true;
	y->on = c->turn.lookup.enabled;
	y->event = y->on ? eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC) : -1;
	if (!y->on || y->event >= 0)
		return true;
	snprintf(error, len, "auth.lookup: eventfd: %s", strerror(errno));
	return false;
}

// --- the worker's side ---------------------------------------------------------------------------

bool lookup_rings_ask(void *ctx, const struct turn_lookup_question *q)
{
	struct worker *w = ctx;
	struct dp_lookup_question out = {.id = q->id,
		.client = q->client,
		.transport = q->transport,
		.name_len = q->name_len,
		.realm_len = (uint16_t)strnlen(q->realm, sizeof(out.realm))};

	if (w->parking == NULL)
		return false;
	memcpy(out.ident, q->ident, sizeof(out.ident));
	memcpy(out.name, q->name, q->name_len);
	memcpy(out.realm, q->realm, out.realm_len);
	if (rte_ring_sp_enqueue_elem(w->parking->rings.questions, &out, QUESTION_SIZE) != 0)
		return false;
	dp_lookup_wake(w->dp);
	return true;
}

// --- the thread's side ---------------------------------------------------------------------------

static struct lookup_rings *rings_of(const struct dp *d, unsigned int worker)
{
	return worker < d->nb_workers && d->lookups.parking[worker] != NULL
		? &d->lookups.parking[worker]->rings
		: NULL;
}

static void note_taken(struct lookup_rings *r, const struct dp_lookup_question *q)
{
	struct lookup_taken *t = &r->taken[turn_lookup_place(q->id)];

	t->id = q->id;
	memcpy(t->ident, q->ident, sizeof(t->ident));
}

unsigned int dp_lookup_take(struct dp *d, struct dp_lookup_question *out, unsigned int max)
{
	unsigned int n = 0, got;

	for (unsigned int i = 0; i < d->nb_workers && n < max; i++) {
		struct lookup_rings *r = rings_of(d, d->lookups.next);

		d->lookups.next = (d->lookups.next + 1) % d->nb_workers;
		if (r == NULL)
			continue;
		got = rte_ring_sc_dequeue_burst_elem(
			r->questions, out + n, QUESTION_SIZE, max - n, NULL);
		for (unsigned int k = 0; k < got; k++)
			note_taken(r, &out[n + k]);
		n += got;
	}
	return n;
}

int dp_lookup_fd(const struct dp *d)
{
	return d->lookups.on ? d->lookups.event : -1;
}

bool dp_lookup_sleep(struct dp *d)
{
	__atomic_store_n(&d->lookups.asleep, 1, __ATOMIC_SEQ_CST);
	for (unsigned int i = 0; i < d->nb_workers; i++) {
		const struct lookup_rings *r = rings_of(d, i);

		if (r != NULL && !rte_ring_empty(r->questions)) {
			__atomic_store_n(&d->lookups.asleep, 0, __ATOMIC_RELAXED);
			return false;
		}
	}
	return true;
}

void dp_lookup_wake(struct dp *d)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&d->lookups.asleep, __ATOMIC_RELAXED) != 0 &&
		__atomic_exchange_n(&d->lookups.asleep, 0, __ATOMIC_RELAXED) != 0)
		eventfd_write(d->lookups.event, 1);
}

static bool give_answer(struct dp *d, unsigned int worker, const struct turn_lookup_answer *a)
{
	const struct lookup_rings *r = rings_of(d, worker);

	if (r == NULL ||
		rte_ring_sp_enqueue_elem(r->answers, (void *)(uintptr_t)a, ANSWER_SIZE) != 0)
		return false;
	waiter_kick(&d->worker[worker]->waiter);
	return true;
}

// Tells the workers that have not asked. One without room asks by itself when it has to.
static void tell_others(struct dp *d, const struct turn_lookup_answer *a)
{
	const unsigned int worker = turn_lookup_worker(a->id);
	const uint32_t place = turn_lookup_place(a->id);
	const struct lookup_rings *r = rings_of(d, worker);
	struct turn_lookup_answer told = *a;

	if (r == NULL || place >= r->nb_places || r->taken[place].id != a->id)
		return;
	told.id = 0;
	memcpy(told.ident, r->taken[place].ident, sizeof(told.ident));
	r->taken[place].id = 0;
	for (unsigned int i = 0; i < d->nb_workers; i++)
		if (i != worker)
			give_answer(d, i, &told);
	explicit_bzero(&told, sizeof(told));
}

bool dp_lookup_answer(struct dp *d, const struct turn_lookup_answer *a)
{
	if (a->id == 0) // only tell_others gives such answers
		return false;
	if (a->result == TURN_LOOKUP_KEYS)
		tell_others(d, a);
	return give_answer(d, turn_lookup_worker(a->id), a);
}

bool dp_lookup_secret(struct dp *d, const struct turn_lookup_secret *secret)
{
	bool all = true;

	for (unsigned int i = 0; i < d->nb_workers; i++) {
		const struct lookup_rings *r = rings_of(d, i);

		if (r == NULL)
			continue;
		all &= rte_ring_sp_enqueue_elem(
			       r->secrets, (void *)(uintptr_t)secret, SECRET_SIZE) == 0;
		waiter_kick(&d->worker[i]->waiter);
	}
	return all;
}
