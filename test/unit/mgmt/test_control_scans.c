// SPDX-License-Identifier: BSD-3-Clause
// Scans of a worker that does not answer: they end, then poll for an answer more rarely, and leave
// nothing behind for the next.
#include <string.h>

#include "dp_world.h"
#include "socket/commands.h"
#include "answers/scans.h"

#define PATIENCE_MS 30000
#define REST_US 1000

static struct dp_world world;
static struct control control;
static unsigned int taken, ended;

static bool take(struct scan *s, const struct dp_answer *a)
{
	taken++;
	return true;
}

static bool end(struct scan *s)
{
	ended++;
	return true;
}

// Continues without a client, as an order does.
static const struct scan_kind kind = {.orders = true, .take = take, .end = end};

static int setup(void **state)
{
	const struct world_setup one = {.workers = 1, .rx_queues = 1, .tx_queues = 1};

	world_open(&world, &one);
	control = (struct control){.dp = world.dp};
	taken = ended = 0;
	return 0;
}

static int teardown(void **state)
{
	world_close(&world);
	return 0;
}

static struct scan *begin(void)
{
	struct command c = {.control = &control, .out = json_object()};
	struct scan *s = scans_new(&c, &kind, 0);

	assert_non_null(s);
	s->question = (struct dp_question){.kind = DP_ASK_ROWS, .max = 8};
	scans_begin(s);
	return s;
}

static void an_answer_ends_it(void **state)
{
	begin();
	assert_in_range(scans_step(&control), 1, REST_US); // less, if this thread was preempted
	world_round(&world);
	assert_int_equal(scans_step(&control), -1);
	assert_null(control.scans.first);
	assert_int_equal(taken + ended, 2);
}

static void without_an_answer_it_ends(void **state)
{
	struct scan *s = begin();

	assert_in_range(scans_step(&control), 1, REST_US); // less, if this thread was preempted
	s->since_ms -= 100;
	assert_int_equal(scans_step(&control), REST_US);
	s->since_ms -= PATIENCE_MS;
	assert_int_equal(scans_step(&control), -1);
	assert_null(control.scans.first);
	// the worker answers late: this confuses no scan, and the next one gets its own answer
	world_round(&world);
	begin();
	scans_step(&control);
	world_round(&world);
	assert_int_equal(scans_step(&control), -1);
	assert_int_equal(taken + ended, 2);
}

// An abandoned question of another scan blocks this one: the wait for it ends, too.
static void behind_a_question_without_answer_it_ends(void **state)
{
	const struct dp_question q = {.kind = DP_ASK_ROWS, .max = 1};
	struct scan *s = begin();

	assert_int_equal(dp_ask(world.dp, 0, &q), 0);
	dp_answer_done(world.dp, 0, q.kind);
	assert_in_range(scans_step(&control), 1, REST_US); // less, if this thread was preempted
	assert_false(s->asked);
	s->since_ms -= 100;
	assert_int_equal(scans_step(&control), REST_US);
	s->since_ms -= PATIENCE_MS;
	assert_int_equal(scans_step(&control), -1);
	assert_null(control.scans.first);
	assert_int_equal(taken + ended, 0);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(an_answer_ends_it),
		CASE(without_an_answer_it_ends),
		CASE(behind_a_question_without_answer_it_ends),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
