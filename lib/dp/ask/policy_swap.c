// SPDX-License-Identifier: BSD-3-Clause
// Gives all workers a new policy, and makes them end everything that it denies. Each is asked
// through its mailbox, all at the same time, and answers between two rounds. The old policy is
// freed when no thread can read it.
#include "ask/policy_swap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "stream_change.h"
#include "clients/streams.h"
#include "conf.h"
#include "conf_changes.h"
#include "ask/hot.h"
#include "datapath.h"
#include "dp.h"
#include "dp_features.h"
#include "exception/exception_host.h"
#include "stream.h"
#include "stun.h"
#include "state/carry.h"
#include "turn_judge.h"
#include "turn_leave.h"
#include "turn_policy.h"
#include "turn_relay_map.h"
#include "turn_shard.h"
#include "turn_state.h"
#include "path/worker.h"

// LEAVE is for moves only: everything on the old addresses ends before any thread knows the new
// ones, so nothing on the new ones ends. LOWER asks one worker after the other: two workers that
// see at the same time that a user has one allocation too many would end two.
enum phase { LEAVE, TAKE, JUDGE, LOWER, DONE };
enum state { TO_ASK, ASKED, ANSWERED };

struct reload {
	struct turn_policy *policy; // the new one until all workers have it, then the old one
	struct hot *hot;
	bool taken; // all workers have the new policy
	struct streams_listeners listeners; // storage that `streams` points to
	struct stream_config streams;
	struct stream_renewal *certificates; // NULL: certificates stay as they are
	struct turn_judge *judge, *lower; // lower: NULL if quotas end no allocations
	bool lowers; // true if lower may run now
	enum phase phase;
	enum state state[TURN_WORKERS_MAX];
	struct turn_walk walk[TURN_WORKERS_MAX]; // by worker: position of judge or leave
	unsigned int ended;
	struct conf *moved; // from dp_move_begin; NULL: a reload
	struct turn_leave leave;
	char trouble[192]; // problem of the move
};

static void free_parts(struct reload *r)
{
	if (r->moved != NULL)
		turn_policy_moved_free(r->policy);
	else
		turn_policy_free(r->policy);
	hot_free(r->hot);
	stream_renewal_free(r->certificates);
	turn_judge_free(r->judge);
	turn_judge_free(r->lower);
	conf_moved_free(r->moved);
	free(r);
}

// NULL if memory is short, or the policy cannot be made.
static struct reload *make_reload(struct dp *d, const struct conf *c, struct stun_crypto *crypto)
{
	struct reload *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	r->phase = TAKE;
	r->policy = turn_policy_create(&c->turn, crypto, d->boot_key);
	r->hot = hot_create(c, d->map);
	streams_config(d, c, &r->listeners, &r->streams);
	if (r->policy != NULL && r->hot != NULL)
		r->judge = turn_judge_create(d->policy, r->policy, d->quota, false);
	if (r->judge != NULL && c->lower_ends)
		r->lower = turn_judge_create(d->policy, r->policy, d->quota, true);
	// until now `keep` may have kept allocations beyond a quota
	r->lowers = r->lower != NULL && (!d->conf->lower_ends || turn_judge_needed(r->lower));
	if (r->judge != NULL && (r->lower != NULL || !c->lower_ends))
		return r;
	free_parts(r);
	return NULL;
}

// Reads the certificates, if a listener needs any. False with the reason in error.
static bool read_certificates(struct dp *d, char *error, size_t len)
{
	struct reload *r = d->reload;

	if (d->streams == NULL)
		return true;
	r->certificates = stream_renewal_load(&r->streams, error, len);
	return r->certificates != NULL;
}

// Name of a table made at start that is too small for the file, or NULL.
static const char *too_small(const struct dp *d, const struct turn_config *c)
{
	const char *small = NULL;

#define X(too_small)       \
	if (small == NULL) \
		small = too_small(d, c);
	DP_RELOADS(X)
#undef X
	return small;
}

int dp_reload_begin(struct dp *d, const struct conf *c, bool renew, char *error, size_t len)
{
	const char *small = too_small(d, &c->turn);
	struct stun_crypto *crypto;

	if (d->reload != NULL || small != NULL) {
		snprintf(error, len, "%s", small != NULL ? small : "the last reload has not ended");
		return -1;
	}
	dp_reload_clear(d);
#define X(begin)                               \
	if (!begin(d, c, d->conf, error, len)) \
		return -1;
	DP_BEFORE_POLICY(X)
#undef X
	crypto = stun_crypto_create();
	if (crypto != NULL)
		d->reload = make_reload(d, c, crypto);
	stun_crypto_free(crypto);
	if (d->reload == NULL) {
		snprintf(error, len, "auth and peers: policy cannot be made");
		return -1;
	}
	if (!renew || read_certificates(d, error, len))
		return 0;
	free_parts(d->reload);
	d->reload = NULL;
	return -1;
}

// --- moves ---------------------------------------------------------------------------------------

static void list_leaving(
	struct reload *r, const struct turn_config *was, const struct turn_config *current)
{
	for (uint32_t i = 0; i < was->nb_relay && r->leave.nb_relay < TURN_LEAVE_MAX; i++)
		if (!addr_eq(&was->relay[i], &current->relay[i]))
			r->leave.relay[r->leave.nb_relay++] = i;
	// connections survive as long as the kernel has their address
	for (uint32_t i = 0; i < was->nb_listeners; i++)
		if (!turn_listener_is_stream(&was->listeners[i]) &&
			!addr_eq(&was->listeners[i].endpoint.addr,
				&current->listeners[i].endpoint.addr))
			r->leave.listener[i / 64] |= UINT64_C(1) << i % 64;
}

int dp_move_begin(struct dp *d, struct conf *moved, char *error, size_t len)
{
	struct reload *r;

	_Static_assert(TURN_LEAVE_MAX >= DP_LEARNED_MAX, "room for each address");
	snprintf(error, len, "%s",
		d->reload != NULL ? "the last reload has not ended" : "out of memory");
	if (d->reload != NULL)
		return -1;
	dp_reload_clear(d);
	r = calloc(1, sizeof(*r));
	if (r == NULL)
		return -1;
	r->policy = turn_policy_move(d->policy, &moved->turn);
	r->hot = hot_create(moved, d->map);
	streams_config(d, moved, &r->listeners, &r->streams);
	if (r->policy != NULL && r->hot != NULL)
		r->judge = turn_judge_create(d->policy, r->policy, d->quota, false);
	if (r->judge == NULL) {
		turn_policy_moved_free(r->policy);
		r->policy = NULL;
		free_parts(r);
		return -1;
	}
	r->moved = moved;
	list_leaving(r, &d->conf->turn, &moved->turn);
	d->reload = r;
	return 0;
}

static void mark_leaving(const struct dp *d, const struct reload *r, bool lost)
{
	for (uint32_t i = 0; i < r->leave.nb_relay; i++)
		turn_relay_map_lose(d->map, r->leave.relay[i], lost);
}

// No allocation uses the old addresses any more: gives the new ones to the shared tables, to ports,
// and to the next process.
static void move_shared(struct dp *d)
{
	const struct reload *r = d->reload;

	for (uint32_t i = 0; i < r->leave.nb_relay; i++)
		turn_relay_map_move(
			d->map, r->leave.relay[i], &r->moved->turn.relay[r->leave.relay[i]]);
	for (uint32_t i = 0; i < d->nb_ports; i++) {
		struct port *p = d->port[i].port;

		for (uint32_t k = 0; p->ops->move != NULL && k < d->conf->ports[i].nb_addresses;
			k++) {
			const struct addr *was = &d->conf->ports[i].addresses[k].addr;
			const struct addr *current = &r->moved->ports[i].addresses[k].addr;

			if (!addr_eq(was, current))
				p->ops->move(p, was, current);
		}
	}
	if (carry_area(d) != NULL)
		turn_state_move(carry_area(d), &r->moved->turn);
}

const char *dp_move_trouble(const struct dp *d)
{
	return d->reload_left != NULL ? d->reload_left->trouble : "";
}

// --- the steps -----------------------------------------------------------------------------------

int dp_reload_routes(struct dp *d, const struct conf *c, char *error, size_t len)
{
	if (exception_host_reroute(d, c, error, len) == 0)
		return 0;
	d->reload_left = d->reload;
	d->reload = NULL;
	return -1;
}

// Continues with one worker. True when it has answered.
static bool step_worker(struct dp *d, unsigned int worker)
{
	struct reload *r = d->reload;
	static const uint8_t kinds[] = {[LEAVE] = DP_ASK_LEAVE,
		[TAKE] = DP_ASK_POLICY,
		[JUDGE] = DP_ASK_JUDGE,
		[LOWER] = DP_ASK_JUDGE};
	const struct dp_question q = {.kind = kinds[r->phase],
		.max = 1,
		.walk = r->walk[worker],
		.policy = r->policy,
		.hot = r->hot,
		.moved = r->moved != NULL ? &r->moved->turn : NULL,
		.leave = &r->leave,
		.judge = r->phase == LOWER ? r->lower : r->judge};
	const struct dp_answer *a;

	if (r->state[worker] == TO_ASK && dp_ask(d, worker, &q) == 0)
		r->state[worker] = ASKED;
	a = r->state[worker] == ASKED ? dp_answered(d, worker, q.kind) : NULL;
	if (a != NULL) {
		r->ended += a->nb;
		r->walk[worker] = a->walk;
		r->state[worker] = a->walk.end ? ANSWERED : TO_ASK;
		dp_answer_done(d, worker, q.kind);
	}
	return r->state[worker] == ANSWERED;
}

// Sets the policies that stream threads use: the next one before the first worker has it, until all
// workers have it.
static void show_policies(
	struct dp *d, struct turn_policy *policy, const struct turn_policy *policy_next)
{
	pthread_mutex_lock(&d->policy_lock);
	d->policy = policy;
	d->policy_next = policy_next;
	pthread_mutex_unlock(&d->policy_lock);
}

// All workers have the new policy and settings. When stream threads have them, too, nothing uses
// the old ones. The threads then check peers again (stream_change).
static void take_over(struct dp *d)
{
	struct reload *r = d->reload;
	struct turn_policy *was = d->policy;
	struct hot *hot = r->hot;

	show_policies(d, r->policy, NULL);
	r->policy = was;
	r->hot = d->hot;
	d->hot = hot;
	r->taken = true;
	if (d->streams != NULL)
		stream_change(d->streams, &r->streams);
	if (d->streams != NULL && r->moved != NULL)
		stream_move(d->streams, &r->streams, r->trouble, sizeof(r->trouble));
	if (r->certificates != NULL)
		stream_renew(d->streams, r->certificates);
	r->certificates = NULL;
}

int dp_reload_step(struct dp *d)
{
	struct reload *r = d->reload;
	unsigned int answered = 0, ended;

	if (r->phase == LEAVE)
		mark_leaving(d, r, true);
	if (r->phase == TAKE)
		show_policies(d, d->policy, r->policy);
	for (unsigned int i = 0; i < d->nb_workers && (r->phase != LOWER || answered == i); i++)
		answered += step_worker(d, i);
	if (answered < d->nb_workers)
		return -EAGAIN;
	memset(r->state, 0, sizeof(r->state));
	memset(r->walk, 0, sizeof(r->walk));
	switch (r->phase++) {
	case LEAVE:
		move_shared(d);
		return -EAGAIN;
	case TAKE:
		take_over(d);
		return -EAGAIN;
	default:
		break;
	}
	if (r->phase == LOWER && r->lowers)
		return -EAGAIN;
	ended = r->ended;
	if (r->moved != NULL)
		mark_leaving(d, r, false);
	d->reload_left = r;
	d->reload = NULL;
	return (int)ended;
}

void dp_reload_clear(struct dp *d)
{
	if (d->reload_left != NULL)
		free_parts(d->reload_left);
	d->reload_left = NULL;
}

void reload_free(struct dp *d)
{
	struct reload *r = d->reload;

	dp_reload_clear(d);
	if (r == NULL)
		return;
	show_policies(d, d->policy, NULL);
	for (unsigned int i = 0; i < d->nb_made; i++) {
		if (r->state[i] == ASKED) // all these questions share one slot
			dp_answer_done(d, i, DP_ASK_JUDGE);
		if (!r->taken && d->worker[i]->shard != NULL) { // the worker may have adopted it
			turn_shard_set_policy(d->worker[i]->shard, d->policy);
			hot_take(d->worker[i], d->hot);
#define X(type, field, of_each, in_each, make, take, close) take(d->worker[i]);
			DP_WORKER(X)
#undef X
		}
	}
	free_parts(r);
	d->reload = NULL;
}
