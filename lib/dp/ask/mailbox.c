// SPDX-License-Identifier: BSD-3-Clause
// Questions to a worker about data that only the worker may touch. It answers them between rounds.
#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "capture/capture.h"
#include "clients/client.h"
#include "clock.h"
#include "see/event_rings.h"
#include "ask/fault.h"
#include "ask/hot.h"
#include "ask/mailbox.h"
#include "datapath.h"
#include "dp.h"
#include "dp_realms.h"
#include "link/nexthop.h"
#include "turn_blocks.h"
#include "turn_judge.h"
#include "turn_leave.h"
#include "turn_listing.h"
#include "turn_mark.h"
#include "turn_shard.h"
#include "path/worker.h"

#define ANSWER_MS 100
#define LOOK_NS (200 * 1000)
#define PAGE_ROWS 32
#define FULL_ROUND 16 // after this much work a round serves questions once a millisecond only
#define ENTRIES 128 // neighbours per round

int mailbox_init(struct mailbox *b)
{
	int rc = 0;

	for (unsigned int i = 0; i < MAILBOX_SLOTS && rc == 0; i++)
		rc = -pthread_mutex_init(&b->slot[i].lock, NULL);
	return rc;
}

void mailbox_fini(struct mailbox *b)
{
	for (unsigned int i = 0; i < MAILBOX_SLOTS; i++)
		pthread_mutex_destroy(&b->slot[i].lock);
}

static struct mailbox_slot *slot_of(struct mailbox *b, unsigned int kind)
{
	switch (kind) {
	case DP_ASK_POLICY:
	case DP_ASK_JUDGE:
	case DP_ASK_LEAVE:
	case DP_ASK_INTAKE:
	case DP_ASK_BLOCKS:
		return &b->slot[MAILBOX_CHANGES];
	case DP_ASK_KILL:
	case DP_ASK_CAPTURE:
	case DP_ASK_FAULT:
		return &b->slot[MAILBOX_ORDERS];
	default:
		return &b->slot[MAILBOX_QUESTIONS];
	}
}

// --- the worker's side ---------------------------------------------------------------------------

static const char *cipher_of(const struct worker *w, uint32_t slot, enum turn_transport over)
{
	const uint64_t conn = w->stream_at != NULL ? w->stream_at[slot] : 0;
	const struct session *c;

	if (conn == 0 || over == TURN_OVER_UDP || over == TURN_OVER_TCP)
		return NULL;
	if (over != TURN_OVER_DTLS)
		return streams_cipher(w, conn);
	if (w->sessions == NULL || sessions_home(conn) != w->id)
		return NULL;
	c = sessions_of(w, conn);
	return c != NULL && c->state == SESSION_OPEN ? dtls_session_cipher(c->dtls) : NULL;
}

static struct dp_route find_route(
	const struct worker *w, const struct addr *src, const struct addr *dst)
{
	struct dp_route route = {0};

	route.known = nexthop_find(w->hot, src, dst, &route.port, &route.via);
	return route;
}

// One call writes everything: the tables of an allocation are small.
static void answer_detail(struct worker *w, const struct dp_question *q, struct dp_answer *a)
{
	const struct turn_config *t = &w->dp->conf->turn;
	struct dp_detail *d = &a->detail;
	const struct turn_info *i = &d->turn.info;

	*d = (struct dp_detail){0};
	a->walk.end = true;
	d->found = turn_listing_show(w->shard, q->filter.id, q->walk.skip, &d->turn);
	if (!d->found)
		return;
	a->nb = 1;
	d->cipher = cipher_of(w, (uint32_t)(i->id >> 32) & ((UINT32_C(1) << 26) - 1), i->transport);
	d->client = find_route(w, &t->listeners[i->listener].endpoint.addr, &i->client.addr);
	for (unsigned int k = 0; k < d->turn.nb_permissions; k++)
		d->permission[k] = find_route(w, &i->relay.addr, &d->turn.permission[k].peer);
}

static void answer_neighbours(struct worker *w, unsigned int max, struct dp_answer *a)
{
	const unsigned int room = RTE_MIN(max - a->nb, (unsigned int)ENTRIES);
	uint16_t cursor = (uint16_t)a->walk.slot;

	a->nb += neigh_list(w->neigh, &cursor, a->neighbours + a->nb, room);
	a->walk.slot = cursor;
	a->walk.end = cursor == NEIGH_NONE;
}

// Each ended allocation is an event, and management takes events off the ring now and then. If the
// ring is full the answer is complete, so the worker waits for nothing.
static bool answer_kill(struct worker *w, const struct dp_question *q, struct dp_answer *a)
{
	const unsigned int room = events_room(w);

	a->nb += turn_listing_kill(w->shard, &q->filter, &a->walk, room);
	return a->walk.end || room == 0;
}

static bool answer_judge(struct worker *w, const struct dp_question *q, struct dp_answer *a)
{
	const unsigned int room = events_room(w);

	a->nb += turn_judge_walk(w->shard, q->judge, &a->walk, room);
	return a->walk.end || room == 0;
}

static bool answer_leave(struct worker *w, const struct dp_question *q, struct dp_answer *a)
{
	const unsigned int room = events_room(w);

	a->nb += turn_leave_walk(w->shard, q->leave, &a->walk, room);
	return a->walk.end || room == 0;
}

// Writes more of the answer. True when it is complete.
static bool answer_more(struct worker *w, const struct dp_question *q, struct dp_answer *a)
{
	const unsigned int room = q->kind == DP_ASK_KEYS ? (unsigned int)DP_ANSWER_KEYS
							 : (unsigned int)DP_ANSWER_ROWS;
	const unsigned int max = RTE_MIN(q->max, room);

	switch ((enum dp_ask)q->kind) {
	case DP_ASK_ROWS:
		a->nb += turn_listing_rows(
			w->shard, &q->filter, &a->walk, a->rows + a->nb, max - a->nb);
		break;
	case DP_ASK_KEYS:
		a->nb += turn_listing_keys(w->shard, &q->filter, &a->walk,
			&(struct turn_listing_keys){q->sort, max - a->nb, a->keys + a->nb});
		break;
	case DP_ASK_DETAIL:
		answer_detail(w, q, a);
		break;
	case DP_ASK_KILL:
		return answer_kill(w, q, a);
	case DP_ASK_NEIGHBOURS:
		answer_neighbours(w, max, a);
		break;
	case DP_ASK_CAPTURE:
		capture_set(w, q->capture);
		a->walk.end = true;
		break;
	case DP_ASK_POLICY:
		turn_shard_set_policy(w->shard, q->policy);
		if (q->moved != NULL)
			turn_shard_move(w->shard, q->moved);
		hot_take(w, q->hot);
#define X(type, field, of_each, in_each, make, take, close) take(w);
		DP_WORKER(X)
#undef X
		a->walk.end = true;
		break;
	case DP_ASK_INTAKE:
		turn_shard_set_intake(w->shard, q->intake);
		a->walk.end = true;
		break;
	case DP_ASK_BLOCKS:
		turn_shard_set_blocks(w->shard, q->blocks);
		return answer_judge(w, q, a);
	case DP_ASK_JUDGE:
		return answer_judge(w, q, a);
	case DP_ASK_LEAVE:
		return answer_leave(w, q, a);
	case DP_ASK_FAULT:
		fault_take(w, &q->fault);
		a->walk.end = true;
		break;
	}
	return a->walk.end || a->nb >= max;
}

static bool is_asked(const struct mailbox_slot *s)
{
	return __atomic_load_n(&s->asked, __ATOMIC_ACQUIRE) != s->answered;
}

// The slot of the next question, or of the one in progress; NULL if there is no question.
static struct mailbox_slot *next_slot(struct mailbox *b)
{
	struct mailbox_slot *pages = &b->slot[MAILBOX_PAGES];

	for (unsigned int i = 0; i < MAILBOX_PAGES; i++)
		if (is_asked(&b->slot[i]) &&
			(i != MAILBOX_QUESTIONS || b->last != &b->slot[i] || !is_asked(pages)))
			return &b->slot[i];
	return is_asked(pages) ? pages : NULL;
}

bool mailbox_serve(struct worker *w, unsigned int work)
{
	struct mailbox *b = &w->mailbox;
	struct mailbox_slot *s = next_slot(b);

	if (s == NULL) // the requester has not written its question yet
		return false;
	if (work >= FULL_ROUND && b->served_ms == w->now_ms)
		return true;
	b->served_ms = w->now_ms;
	if (s->begun != s->asked) {
		s->begun = s->asked;
		s->answer.nb = 0;
		s->answer.at_ms = w->now_ms;
		s->answer.walk = s->question.walk;
	}
	if (!answer_more(w, &s->question, &s->answer))
		return true;
	__atomic_store_n(&s->answered, s->begun, __ATOMIC_RELEASE);
	b->answered++;
	b->last = s;
	return mailbox_is_asked(b);
}

// --- the requester's side ------------------------------------------------------------------------

static bool is_answered(const struct mailbox_slot *s)
{
	return __atomic_load_n(&s->answered, __ATOMIC_ACQUIRE) == s->asked;
}

// Writes a question. The caller holds the slot's lock. False while a question that was given up is
// not answered yet.
static bool put_question(struct worker *w, struct mailbox_slot *s, const struct dp_question *q)
{
	if (!is_answered(s))
		return false;
	s->question = *q;
	__atomic_store_n(&s->asked, s->asked + 1, __ATOMIC_RELEASE);
	__atomic_fetch_add(&w->mailbox.asked, 1, __ATOMIC_RELEASE);
	waiter_kick(&w->waiter);
	return true;
}

int dp_ask(struct dp *d, unsigned int worker, const struct dp_question *q)
{
	struct mailbox_slot *s;

	if (worker >= d->nb_workers)
		return -ERANGE;
	s = slot_of(&d->worker[worker]->mailbox, q->kind);
	if (pthread_mutex_trylock(&s->lock) != 0)
		return -EBUSY;
	if (put_question(d->worker[worker], s, q))
		return 0;
	pthread_mutex_unlock(&s->lock);
	return -EBUSY;
}

const struct dp_answer *dp_answered(struct dp *d, unsigned int worker, enum dp_ask kind)
{
	const struct mailbox_slot *s = slot_of(&d->worker[worker]->mailbox, kind);

	return is_answered(s) ? &s->answer : NULL;
}

void dp_answer_done(struct dp *d, unsigned int worker, enum dp_ask kind)
{
	pthread_mutex_unlock(&slot_of(&d->worker[worker]->mailbox, kind)->lock);
}

// Asks and waits. The caller holds the lock.
static int ask_worker(struct worker *w, const struct dp_question *q, struct turn_info *out)
{
	struct mailbox_slot *s = &w->mailbox.slot[MAILBOX_PAGES];
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	bool asked = false;

	for (unsigned int i = 0; i < ANSWER_MS * 1000u * 1000u / LOOK_NS; i++) {
		asked = asked || put_question(w, s, q);
		if (asked && is_answered(s)) {
			memcpy(out, s->answer.rows, s->answer.nb * sizeof(*out));
			return (int)s->answer.nb;
		}
		nanosleep(&pause, NULL);
	}
	return -EBUSY;
}

int dp_list(struct dp *d, unsigned int worker, unsigned int page, struct turn_info out[32])
{
	const struct dp_question q = {
		.kind = DP_ASK_ROWS, .max = PAGE_ROWS, .walk = {.skip = page * PAGE_ROWS}};
	struct mailbox_slot *s;
	struct timespec until;
	int n, rc;

	if (worker >= d->nb_workers || page > UINT32_MAX / PAGE_ROWS)
		return -ERANGE;
	s = &d->worker[worker]->mailbox.slot[MAILBOX_PAGES];
	until = clock_timespec(clock_monotonic_ms() + ANSWER_MS);
	rc = pthread_mutex_clocklock(&s->lock, CLOCK_MONOTONIC, &until);
	if (rc != 0)
		return -EBUSY;
	n = ask_worker(d->worker[worker], &q, out);
	pthread_mutex_unlock(&s->lock);
	return n;
}

bool dp_filter_user(
	const struct dp *d, struct stun_crypto *crypto, const char *name, struct turn_filter *f)
{
	const struct turn_listing_name user = {dp_realm_name(d, f->realm), name, f->realm};

	return turn_listing_user(f, d->quota, crypto, &user);
}
