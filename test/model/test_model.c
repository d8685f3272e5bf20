// SPDX-License-Identifier: BSD-3-Clause
// Random operations on one shard, with time jumps and restarts. A naive model of RFC 8656 judges
// each of them. TEST_SEED=n repeats a run, TEST_OPS=n sets its length.
#include "feature_names.h"
#include "naive.h"
#include "restart_world.h"

#include <stdio.h>
#include <stdlib.h>

#define OPS 400000
#define WORLDS 40 // configurations in a run
#define LISTING_EVERY 64
#define RESTART_EVERY 500
#define RELOAD_EVERY 500

struct run {
	struct model_world w;
	struct restart s;
	struct naive n;
	struct fixture_told told; // of servers that have ended
	struct test_rand rand; // of the run itself: seeds of worlds, time jumps, alternates
#ifdef FEATURE_ALTERNATES
	struct turn_alternates *alternates;
#endif
	uint64_t ops, early, restarts, taken_up;
	uint64_t reloads, ended; // by reloads
	uint64_t duals, halves, moves;
	uint64_t errors[700], drops[TURN_DROP_END], relayed, indications;
	uint64_t refused[TURN_REFUSAL_END];
};

static struct fixture *f_of(struct run *r)
{
	return &r->s.worker[0];
}

static void complain(const struct run *r, const struct op *op, const char *wrong)
{
	printf("%s, at operation %llu, at %llu ms\n", wrong, (unsigned long long)r->ops,
		(unsigned long long)r->s.boot_ms);
	if (op != NULL)
		model_print(&r->w, op);
	fail_msg("%s", wrong);
}

// Time that the clock advances before the next operation: mostly none; sometimes to just before, at
// or just after an expiry, or far.
static uint64_t pick_jump(struct run *r)
{
	const uint32_t dice = test_rand_below(&r->rand, 2000);
	const uint64_t edge = naive_edge(&r->n);

	if (dice < 1600)
		return 0;
	if (dice < 1980)
		return test_rand_below(&r->rand, 40);
	if (dice < 1990 && edge != UINT64_MAX)
		return edge - r->s.boot_ms + test_rand_below(&r->rand, 3) - 1;
	if (dice < 1998)
		return test_rand_below(&r->rand, 20000);
	if (dice < 1999)
		return test_rand_below(&r->rand, 300000);
	return test_rand_below(&r->rand, 50) == 0 ? test_rand_below(&r->rand, 2 * 3600 * 1000) : 0;
}

static void step_clock(struct run *r)
{
	restart_advance(&r->s, pick_jump(r));
	naive_clock(&r->n, r->s.boot_ms, r->s.wall_s);
	// Sweeping may lag; expired holds end even so.
	if (test_rand_below(&r->rand, 4) == 0 && !turn_shard_expire(f_of(r)->shard))
		naive_swept(&r->n);
	if (r->ops % 16 == 0)
		turn_shard_check(f_of(r)->shard);
}

// Which new allocations the shard refuses. The old alternates are freed after it knows.
static void tell_intake(struct run *r, struct turn_intake *next)
{
	turn_shard_set_intake(f_of(r)->shard, next);
#ifdef FEATURE_ALTERNATES
	turn_alternates_free(r->alternates);
	r->alternates = next->alternates;
#endif
}

// A process ends, and what it refuses.
static void no_intake(struct run *r)
{
	tell_intake(r, &(struct turn_intake){0});
	r->n.sends = false;
}

#ifdef FEATURE_ALTERNATES
// Begins to redirect clients to a server of none, one or both families, for one of the reasons.
static void redirect(struct run *r, struct turn_intake *next)
{
	static const char *const alternates[2] = {"203.0.113.9", "2001:db8:9::9"};
	struct naive *n = &r->n;
	const uint32_t which = test_rand_below(&r->rand, 4);
	const struct turn_alternates_rule rule = {
		.when = (enum turn_alternates_when)test_rand_below(&r->rand, 4),
		.min_allocations = 1 + test_rand_below(&r->rand, 6)};
	struct turn_alternate list[2] = {0};

	n->drains = rule.when == TURN_ALTERNATES_DRAIN;
	n->threshold = rule.when == TURN_ALTERNATES_ALLOCATIONS ? rule.min_allocations : 0;
	for (unsigned int i = 0; i < 2; i++)
		if ((which & 1u << i) != 0) {
			addr_parse(alternates[i], &n->alternate[n->nb_alternates]);
			list[n->nb_alternates].addr = n->alternate[n->nb_alternates];
			n->nb_alternates++;
		}
	next->alternates = turn_alternates_create(&rule, list, n->nb_alternates);
	assert_non_null(next->alternates);
}
#endif

// Now and then the server drains for a while, or redirects clients for another reason.
static void step_intake(struct run *r)
{
	struct naive *n = &r->n;
	struct turn_intake next = {0};

	if (test_rand_below(&r->rand, n->sends ? 100 : 1000) != 0)
		return;
	n->sends = n->drains = !n->sends;
	n->nb_alternates = 0;
#ifdef FEATURE_ALTERNATES
	if (n->sends)
		redirect(r, &next);
#endif
	next.drains = n->drains;
	tell_intake(r, &next);
}

static void route(struct run *r, const struct op *op)
{
	uint8_t *datagram = malloc(MODEL_DATAGRAM);
	struct turn_burst *b = &f_of(r)->burst;
	uint16_t len;

	assert_non_null(datagram);
	len = model_encode(&r->w, f_of(r), op, datagram);
	datagram = realloc(datagram, len > 0 ? len : 1); // ASan finds reads beyond the end
	assert_non_null(datagram);
	free(f_of(r)->datagram);
	f_of(r)->datagram = datagram;
	model_view(&r->w, f_of(r), op, &b->view[0]);
	b->view[0].data = datagram;
	b->view[0].len = len;
	fixture_route(f_of(r)->shard, b);
}

static uint64_t early_count(struct run *r)
{
	struct turn_stats stats;

	turn_shard_stats(f_of(r)->shard, &stats);
	return stats.port_reused_early;
}

static void step(struct run *r)
{
	const struct op op = model_op(&r->w);
	const uint64_t early = early_count(r);
	const struct turn_stats before = fixture_stats(f_of(r));
	struct outcome o;
	const char *wrong;

	route(r, &op);
	wrong = model_decode(&r->w, f_of(r), 0, &op, &o);
	r->n.early = 0;
	naive_token_look(&r->n, &op);
	if (wrong == NULL)
		wrong = naive_judge(&r->n, &op, &o);
	if (wrong == NULL)
		wrong = naive_judge_told(&r->n, &op, &o, &before, f_of(r));
	if (wrong == NULL && r->n.early >= 0 && (early_count(r) > early) != (r->n.early == 1))
		wrong = "port_reused_early counts wrong";
	r->early += early_count(r) - early;
	if (wrong == NULL && r->ops % LISTING_EVERY == 0)
		wrong = naive_judge_listing(
			&r->n, f_of(r)->shard, turn_quota_total(f_of(r)->quota));
	if (wrong != NULL)
		complain(r, &op, wrong);
	model_learn(&r->w, &op, &o);
	r->ops++;
}

// Everything expired is swept first, so that the existing holds are certain.
static void reload(struct run *r)
{
	unsigned int ended, expected;

	while (turn_shard_expire(f_of(r)->shard))
		;
	naive_swept(&r->n);
	if (!naive_sure(&r->n))
		return;
	ended = model_reload(&r->w, f_of(r));
	expected = naive_reload(&r->n);
	if (ended != expected)
		complain(r, NULL, "a reload has ended more or fewer than it had to");
	r->reloads++;
	r->ended += ended;
}

static void sum_up(struct run *r)
{
	for (int i = 0; i < 700; i++)
		r->errors[i] += r->n.errors[i];
	for (int i = 0; i < TURN_DROP_END; i++)
		r->drops[i] += r->n.drops[i];
	for (int i = 0; i < TURN_REFUSAL_END; i++)
		r->refused[i] += r->n.refused[i];
	r->duals += r->n.duals;
	r->halves += r->n.halves;
	r->moves += r->n.all_moves;
	r->relayed += r->n.relayed;
	r->indications += r->n.indications;
}

static void told_add(struct run *r)
{
	const struct fixture_told *t = &f_of(r)->told;

	r->told.made += t->made;
	for (unsigned int i = 0; i < TURN_END_END; i++)
		r->told.ended[i] += t->ended[i];
	for (unsigned int i = 0; i < TURN_REFUSAL_END; i++)
		r->told.refused[i] += t->refused[i];
}

// Now and then the process ends, and another one restores its state.
static void step_restart(struct run *r)
{
	const struct turn_state_adopted *a = &r->s.adopted;
	uint64_t lost[TURN_STATE_LOST_END] = {0};

	if (test_rand_below(&r->rand, RESTART_EVERY) != 0)
		return;
	turn_shard_keep(f_of(r)->shard);
	told_add(r);
	restart_again(&r->s, &r->w.config, pick_jump(r));
	r->restarts++;
	r->taken_up += a->allocations;
	lost[TURN_STATE_LOST_EXPIRED] = a->lost[TURN_STATE_LOST_EXPIRED];
	lost[TURN_STATE_LOST_RESERVATION] = naive_restarted(&r->n, r->s.boot_ms, r->s.wall_s,
		a->allocations + a->lost[TURN_STATE_LOST_EXPIRED]);
	for (unsigned int i = 0; i < TURN_STATE_LOST_END; i++)
		if (a->lost[i] != lost[i])
			complain(r, NULL, turn_state_loss_text(i));
	no_intake(r); // belongs to a process
}

static void run_world(struct run *r, uint64_t ops)
{
	const uint64_t end = r->ops + ops;
	const char *wrong;

	model_world_init(&r->w, test_rand(&r->rand));
	restart_open(&r->s, &r->w.config, test_rand(&r->rand));
	r->told = (struct fixture_told){0};
	naive_init(&r->n, &r->w, r->s.boot_ms, r->s.wall_s);
	while (r->ops < end) {
		step_clock(r);
		step_restart(r);
		step_intake(r);
		if (test_rand_below(&r->rand, RELOAD_EVERY) == 0)
			reload(r);
		step(r);
	}
	no_intake(r);
	restart_close(&r->s); // finds leftovers in the quota
	told_add(r);
	wrong = naive_judge_end(&r->n, &r->told);
	if (wrong != NULL)
		complain(r, NULL, wrong);
	sum_up(r);
}

// Refusals by features that one shard and these worlds do not have.
static bool is_not_here(enum turn_refusal refusal)
{
	switch (refusal) {
	case TURN_GRANTED:
	case TURN_REFUSED_NAME_LONG:
	case TURN_REFUSED_REST_NAME:
	case TURN_REFUSED_GUESSES:
	case TURN_REFUSED_UNANSWERED:
	case TURN_REFUSED_BINDING_RATE:
	case TURN_REFUSED_RELAY_LOST:
	case TURN_REFUSED_NO_MEMORY:
	case TURN_REFUSED_PORT_SHARE:
	case TURN_REFUSED_REDIRECTS:
	case TURN_REFUSED_SHARED_PEER:
	case TURN_REFUSED_SHARED_SHARE:
	case TURN_REFUSED_SHARED_FULL:
	case TURN_REFUSED_TCP_CLIENT:
	case TURN_REFUSED_TCP_METHOD:
	case TURN_REFUSED_TCP_OWN:
	case TURN_REFUSED_USER_BLOCKED:
	case TURN_REFUSED_LOOKUP: // the fuzzer has these two
	case TURN_REFUSED_LOOKUP_FULL:
	case TURN_REFUSED_INTERNAL:
#ifndef FEATURE_TOKENS
	case TURN_REFUSED_ACCESS_KEY:
	case TURN_REFUSED_ACCESS_MALFORMED:
	case TURN_REFUSED_ACCESS_FORGED:
	case TURN_REFUSED_ACCESS_SIGNATURE:
	case TURN_REFUSED_ACCESS_EXPIRED:
	case TURN_REFUSED_ACCESS_FUTURE:
	case TURN_REFUSED_ACCESS_MISSING:
#endif
#ifdef FEATURE_RESERVATIONS
	case TURN_REFUSED_SHARED_PORT:
#else
	case TURN_REFUSED_QUOTA_PAIR:
	case TURN_REFUSED_TOKEN:
#endif
#ifndef FEATURE_ALTERNATES
	case TURN_REFUSED_ALTERNATE:
	case TURN_REFUSED_ALTERNATE_ALWAYS:
	case TURN_REFUSED_ALTERNATE_ALLOCATIONS:
	case TURN_REFUSED_ALTERNATE_DATAGRAMS:
#endif
#ifndef FEATURE_REALMS
	case TURN_REFUSED_QUOTA_REALM:
#endif
#ifndef FEATURE_MOBILITY
	case TURN_REFUSED_MOBILITY:
	case TURN_REFUSED_TICKET:
	case TURN_REFUSED_MOVES:
#endif
		return true;
	default:
		return false;
	}
}

static void check_refusals(const struct run *r)
{
	for (unsigned int refusal = TURN_GRANTED + 1; refusal < TURN_REFUSAL_END; refusal++) {
		printf("  refused %s: %llu\n", turn_refusal_info(refusal)->name,
			(unsigned long long)r->refused[refusal]);
		if (r->ops >= OPS)
			assert_int_equal(r->refused[refusal] == 0, is_not_here(refusal));
	}
}

// A run in which some error or drop never occurred has not tested it.
static void check_coverage(const struct run *r)
{
	static const unsigned int codes[] = {
		0, 300, 400, 401, 403, 405, 420, 437, 438, 440, 441, 442, 443, 486, 508};
	static const enum turn_drop not_here[] = {TURN_OK, TURN_DROP_UNAUTHENTICATED_RATE,
		TURN_DROP_GUESS_RATE, TURN_DROP_BINDING_RATE, TURN_DROP_BINDING_OFF,
		TURN_DROP_INTERNAL, TURN_DROP_PEER_OVERSIZE, TURN_DROP_SHARED_SHARE,
		TURN_DROP_SHARED_UNKNOWN_PEER, TURN_DROP_PEER_OTHER_POOL, TURN_DROP_PEER_OWN,
		TURN_DROP_SHARED_COLLISION, TURN_DROP_SHARED_FULL, TURN_DROP_ICMP_NO_ALLOCATION,
		TURN_DROP_ICMP_NO_PERMISSION, TURN_DROP_ICMP_UNTOLD, TURN_DROP_ICMP_RATE,
		TURN_DROP_ALLOCATION_RATE, TURN_DROP_USER_RATE, TURN_DROP_REALM_RATE,
		TURN_DROP_LOOKUP, TURN_DROP_CLIENT_DENIED, TURN_DROP_CLIENT_BLOCKED};
	const size_t nb_not_here = sizeof(not_here) / sizeof(not_here[0]);

	printf("%llu operations: %llu relayed (%llu as Data indications), %llu ports reused "
	       "early\n",
		(unsigned long long)r->ops, (unsigned long long)r->relayed,
		(unsigned long long)r->indications, (unsigned long long)r->early);
	printf("  %llu restarts, %llu allocations restored\n", (unsigned long long)r->restarts,
		(unsigned long long)r->taken_up);
	printf("  %llu dual allocations, %llu halves\n", (unsigned long long)r->duals,
		(unsigned long long)r->halves);
	printf("  %llu moves\n", (unsigned long long)r->moves);
	printf("  %llu reloads have ended %llu\n", (unsigned long long)r->reloads,
		(unsigned long long)r->ended);
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		printf("  answer %3u: %llu\n", codes[i], (unsigned long long)r->errors[codes[i]]);
	for (unsigned int d = 1; d < TURN_DROP_END; d++)
		printf("  drop %s: %llu\n", turn_drop_name(d), (unsigned long long)r->drops[d]);
	check_refusals(r);
	if (r->ops < OPS)
		return;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		assert_true(r->errors[codes[i]] > 0 || (codes[i] == 405 && !MODEL_MOBILITY) ||
			(codes[i] == 300 && !MODEL_ALTERNATES));
	for (unsigned int d = 0; d < TURN_DROP_END; d++) {
		bool expected = true;

		for (size_t i = 0; i < nb_not_here; i++)
			expected = expected && d != not_here[i];
		assert_true(!expected || r->drops[d] > 0);
	}
	assert_true(r->relayed > r->ops / 50);
	assert_true(r->indications > 0 && r->indications < r->relayed);
	assert_true(r->early > 0);
	assert_true(r->duals > r->ops / 1000 && r->halves > 0);
	assert_true(!MODEL_MOBILITY || r->moves > r->ops / 8000);
	assert_true(r->taken_up > r->restarts);
	assert_true(r->reloads > r->ops / RELOAD_EVERY / 2 && r->ended > r->reloads / 10);
}

static void test_model(void **state)
{
	static struct run r;
	const char *env = getenv("TEST_OPS");
	const uint64_t ops = env != NULL ? strtoull(env, NULL, 0) : OPS;

	r.rand = test_rand_start("model");
	for (int i = 0; i < WORLDS; i++)
		run_world(&r, ops / WORLDS);
	check_coverage(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_model)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
