// SPDX-License-Identifier: BSD-3-Clause
// Any operations in one burst give the same plans and answers as in bursts of one. Two shards with
// equal seeds get equal datagrams: one in bursts of up to 32, finished in chunks; the other one by
// one, each in its own round. The numbers of flows may differ (a record freed in a round is not
// reused until the round is over), so the paths of flows are compared. The paths of a burst are
// compared twice: when the data path uses them, and when the burst is over.
#include "model.h"
#include "shard_rows.h"

#include <stdio.h>
#include <stdlib.h>

#define BURSTS 16000
#define WORLDS 32

struct twin {
	struct model_world w;
	struct fixture bursts, singles;
	struct test_rand rand;
	struct op op[TURN_BURST];
	uint8_t *datagram[TURN_BURST];
	uint64_t datagrams, relayed, replies, busy; // busy: bursts that changed what they looked up
};

// The effect of a plan.
struct effect {
	struct turn_plan plan; // its flow zeroed
	struct turn_path path; // of a relayed or sent datagram
	uint8_t front[TURN_SIDE_LEN];
};

static void complain(const struct twin *t, unsigned int i, const char *wrong)
{
	printf("%s: datagram %u of a burst of %u\n", wrong, i, t->bursts.burst.n);
	for (unsigned int k = 0; k <= i; k++)
		model_print(&t->w, &t->op[k]);
	fail_msg("%s", wrong);
}

static struct turn_path path_of(
	struct fixture *f, const struct turn_plan *p, const struct turn_side *side)
{
	struct turn_path path = {0};

	if (p->verdict == TURN_SEND)
		path = (struct turn_path){side->src, side->dst};
	else if (p->verdict == TURN_RELAY)
		turn_route_path(f->shard, p->flow, &path);
	return path;
}

static void effect_of(struct fixture *f, unsigned int i, struct effect *e)
{
	const struct turn_plan *p = &f->burst.plan;
	const struct turn_side *side = &f->burst.side;

	*e = (struct effect){.plan = *p, .path = path_of(f, p, side)};
	if (p->verdict == TURN_RELAY || p->verdict == TURN_SEND) {
		// the shard may choose among flows with the same path
		e->plan.verdict = TURN_RELAY;
		e->plan.flow = 0;
	}
	assert_true(p->front_len <= TURN_SIDE_LEN);
	if (p->verdict == TURN_REPLY || p->front_len > CHANNEL_HEADER_LEN)
		memcpy(e->front, side->front, p->front_len);
}

static bool path_eq(const struct turn_path *a, const struct turn_path *b)
{
	return endpoint_eq(&a->src, &b->src) && endpoint_eq(&a->dst, &b->dst);
}

static const char *effects_differ(const struct effect *a, const struct effect *b)
{
	if (memcmp(&a->plan, &b->plan, sizeof(a->plan)) != 0)
		return "the burst made another plan";
	if (!path_eq(&a->path, &b->path))
		return "the burst sends it elsewhere";
	if (memcmp(a->front, b->front, sizeof(a->front)) != 0)
		return "the burst made another answer";
	return NULL;
}

static void load(struct twin *t, unsigned int i)
{
	struct turn_view *v = &t->bursts.burst.view[i];

	t->op[i] = model_op(&t->w);
	model_view(&t->w, &t->bursts, &t->op[i], v);
	v->data = t->datagram[i];
	v->len = model_encode(&t->w, &t->bursts, &t->op[i], t->datagram[i]);
}

static void route_single(struct twin *t, unsigned int i, struct effect *e)
{
	struct turn_burst *b = &t->singles.burst;
	struct outcome o;

	model_view(&t->w, &t->singles, &t->op[i], &b->view[0]);
	b->view[0].data = t->datagram[i];
	b->view[0].len = t->bursts.burst.view[i].len;
	turn_shard_round(t->singles.shard, t->singles.now_ms, t->singles.wall_s);
	fixture_route(t->singles.shard, b);
	effect_of(&t->singles, 0, e);
	// The knowledge that clients gain here goes into later bursts.
	if (model_decode(&t->w, &t->singles, 0, &t->op[i], &o) == NULL)
		model_learn(&t->w, &t->op[i], &o);
	t->replies += o.verdict == TURN_REPLY;
	t->relayed += o.verdict == TURN_RELAY || o.verdict == TURN_SEND;
}

static void route_burst(struct twin *t, unsigned int n, struct effect effect[TURN_BURST])
{
	struct turn_burst *b = &t->bursts.burst;

	turn_route_begin(t->bursts.shard, b);
	for (unsigned int i = 0; i < n; i++) {
		turn_route_finish(t->bursts.shard, b, i);
		effect_of(&t->bursts, i, &effect[i]);
	}
}

static void compare_totals(const struct twin *t)
{
	struct turn_info a[64], b[64];
	struct turn_stats sa, sb;
	unsigned int n;

	turn_shard_stats(t->bursts.shard, &sa);
	turn_shard_stats(t->singles.shard, &sb);
	assert_memory_equal(&sa, &sb, sizeof(sa));
	n = shard_rows(t->bursts.shard, a, 64);
	assert_int_equal(shard_rows(t->singles.shard, b, 64), n);
	for (unsigned int i = 0; i < n; i++) {
		assert_int_equal(a[i].id, b[i].id);
		assert_true(endpoint_eq(&a[i].client, &b[i].client));
		assert_true(endpoint_eq(&a[i].relay, &b[i].relay));
		assert_string_equal(a[i].user, b[i].user);
		assert_int_equal(a[i].expires_s, b[i].expires_s);
		assert_memory_equal(&a[i].usage, &b[i].usage, sizeof(a[i].usage));
		assert_int_equal(a[i].permissions, b[i].permissions);
		assert_int_equal(a[i].channels, b[i].channels);
	}
}

static void step(struct twin *t)
{
	static struct effect in_burst[TURN_BURST], alone;
	const unsigned int n = 1 + test_rand_below(&t->rand, TURN_BURST);
	struct turn_stats before, after;

	turn_shard_stats(t->bursts.shard, &before);
	t->bursts.burst.n = n;
	for (unsigned int i = 0; i < n; i++)
		load(t, i);
	route_burst(t, n, in_burst);
	for (unsigned int i = 0; i < n; i++) {
		const char *wrong;

		route_single(t, i, &alone);
		wrong = effects_differ(&in_burst[i], &alone);
		if (wrong != NULL)
			complain(t, i, wrong);
	}
	compare_totals(t);
	turn_shard_stats(t->bursts.shard, &after);
	t->busy += before.allocations != after.allocations || before.channels != after.channels;
	t->datagrams += n;
}

static void step_clock(struct twin *t)
{
	const uint32_t dice = test_rand_below(&t->rand, 100);
	const uint64_t ms = dice < 40 ? 0
		: dice < 85           ? test_rand_below(&t->rand, 2000)
		: dice < 99           ? test_rand_below(&t->rand, 60000)
				      : test_rand_below(&t->rand, 700000);

	fixture_advance(&t->bursts, ms);
	fixture_advance(&t->singles, ms);
	if (dice % 2 == 0) {
		fixture_expire(&t->bursts);
		fixture_expire(&t->singles);
	}
}

static void run_world(struct twin *t, unsigned int bursts)
{
	const uint64_t seed = test_rand(&t->rand);

	model_world_init(&t->w, test_rand(&t->rand));
	fixture_open(&t->bursts, &t->w.config, seed);
	fixture_open(&t->singles, &t->w.config, seed);
	for (unsigned int i = 0; i < bursts; i++) {
		step_clock(t);
		step(t);
	}
	fixture_close(&t->bursts);
	fixture_close(&t->singles);
}

static void test_burst(void **state)
{
	static struct twin t;

	t.rand = test_rand_start("burst");
	for (unsigned int i = 0; i < TURN_BURST; i++) {
		t.datagram[i] = malloc(MODEL_DATAGRAM);
		assert_non_null(t.datagram[i]);
	}
	for (int i = 0; i < WORLDS; i++)
		run_world(&t, BURSTS / WORLDS);
	for (unsigned int i = 0; i < TURN_BURST; i++)
		free(t.datagram[i]);
	printf("%llu datagrams: %llu relayed, %llu answered; %llu of %u bursts made or ended "
	       "something\n",
		(unsigned long long)t.datagrams, (unsigned long long)t.relayed,
		(unsigned long long)t.replies, (unsigned long long)t.busy, BURSTS);
	assert_true(t.datagrams > 200000);
	assert_true(t.relayed > t.datagrams / 50);
	assert_true(t.busy > BURSTS / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_burst)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
