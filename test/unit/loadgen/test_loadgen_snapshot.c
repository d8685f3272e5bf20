// SPDX-License-Identifier: BSD-3-Clause
// A result's statements about its own validity: from two snapshots, without running lanes.
#include <stdlib.h>

#include "lanes/lane.h"
#include "lanes/sender.h"
#include "lanes/snapshot.h"
#include "measure/pacer.h"
#include "test.h"

// One lane, and the two snapshots of a result.
struct snapshot_world {
	struct config config;
	struct lane lane;
	struct engine *engine;
	struct snapshot *first, *last;
	struct result *result;
	struct lane_stats *now; // of the lane, in the later snapshot
};

static struct snapshot_world w;

// Makes one lane; nothing happened before, and all of 10,000 datagrams arrived.
static int begin(void **state)
{
	(void)state;
	w = (struct snapshot_world){.config = {.role = ROLE_BOTH, .mode = MODE_CHANNEL}};
	w.config.direction[DIRECTION_UP] = true;
	w.engine = calloc(1, sizeof(*w.engine));
	w.first = calloc(1, sizeof(*w.first));
	w.last = calloc(1, sizeof(*w.last));
	w.result = result_create();
	w.engine->config = &w.config;
	w.engine->lane[0] = &w.lane;
	w.engine->nb_lanes = 1;
	w.engine->hz = 1000000000;
	w.engine->rate = 10000;
	w.last->tsc = w.engine->hz;
	w.now = &w.last->lane[0];
	w.now->due = w.now->sent[DIRECTION_UP] = w.now->unique[DIRECTION_UP] = 10000;
	return 0;
}

static int end(void **state)
{
	(void)state;
	free(w.engine);
	free(w.first);
	free(w.last);
	result_free(w.result);
	return 0;
}

static bool bound(enum result_bound b)
{
	snapshot_result(w.engine, w.first, w.last, true, w.result);
	return w.result->bound[b];
}

static void lose(uint64_t n)
{
	w.now->unique[DIRECTION_UP] -= n;
}

static void test_all_is_well(void **state)
{
	(void)state;
	assert_false(bound(BOUND_SCHEDULE));
	assert_false(result_generator_bound(w.result));
	assert_int_equal(w.result->due, 10000);
}

// The time of a trial is that of its senders, however late the main lcore sees them start.
static void test_begin(void **state)
{
	struct sender sender[2] = {
		{.nb_flows = 1, .pacer.start = 5000}, {.nb_flows = 3, .pacer.start = 9000}};
	struct lane lane[2] = {{.sender = &sender[0]}, {.sender = &sender[1]}};

	(void)state;
	w.engine->since = 4000;
	assert_int_equal(sender_mean_start(w.engine), 4000);
	w.config.senders = 2;
	w.engine->sender[0] = &lane[0];
	w.engine->sender[1] = &lane[1];
	assert_int_equal(sender_mean_start(w.engine), 8000);
	sender[1].pacer.start = 3999; // the clocks of two sockets differ
	sender[0].nb_flows = 0;
	assert_int_equal(sender_mean_start(w.engine), 3999);
}

// Missed packets were due: they are counted once among these.
static void test_missed(void **state)
{
	(void)state;
	w.now->missed = 100;
	w.now->sent[DIRECTION_UP] -= 100;
	lose(100);
	assert_true(bound(BOUND_SCHEDULE));
	assert_int_equal(w.result->due, 10000);
	assert_int_equal(w.result->missed, 100);
	assert_int_equal(w.result->direction[DIRECTION_UP].lost, 0);
}

// A frame missed by the port can only have been a measured one if a measured one is missing.
static void test_port_missed(void **state)
{
	(void)state;
	w.now->control_lost = 1;
	assert_false(bound(BOUND_RX_MISSED));
	lose(1);
	assert_true(bound(BOUND_RX_MISSED));
}

// A full port of the peers loses datagrams, however fast the clients send.
static void test_reflector_full(void **state)
{
	(void)state;
	w.now->reflect_full = 1;
	lose(1);
	assert_true(bound(BOUND_TX_FULL));
	w.engine->rate = PACER_FLOOD;
	assert_true(bound(BOUND_TX_FULL));
	w.now->reflect_full = 0;
	w.now->tx_full = 1; // a flood fills the port on purpose
	assert_false(bound(BOUND_TX_FULL));
}

// All clients are busy: too few clients, unless the server did not answer in time.
static void test_too_few_clients(void **state)
{
	(void)state;
	w.config.mode = MODE_ALLOC;
	w.now->unstarted = 5000;
	assert_true(bound(BOUND_SCHEDULE));
	w.last->clients.retransmissions = 1;
	assert_false(bound(BOUND_SCHEDULE));
}

static void assert_reason(const char *text)
{
	snapshot_result(w.engine, w.first, w.last, true, w.result);
	assert_false(w.result->uso);
	assert_string_equal(w.result->uso_why, text);
}

// Bursts that left as super-frames, or the first reason why they did not.
static void test_uso(void **state)
{
	static const struct port_ops ops;
	struct port p = {.ops = &ops};

	(void)state;
	w.engine->port[SIDE_CLIENT] = &p;
	w.config.burst = 8;
	assert_reason("the port offers no UDP segmentation");
	p.uso.segments = 64;
	assert_reason("no datagrams that could leave as one frame");
	w.config.burst = 1;
	assert_reason("every burst is one datagram (--burst)");
	p.uso.segments = 0;
	w.config.uso = USO_OFF;
	assert_reason("switched off with --uso");
	w.config.mode = MODE_ALLOC;
	assert_reason("only media is sent in bursts");
	w.config.mode = MODE_CHANNEL;
	w.config.uso = USO_AUTO;
	w.now->super_sent.frames = 10;
	w.now->super_sent.datagrams = 80;
	w.first->lane[0].super_sent.frames = 4; // before the trial
	w.first->lane[0].super_sent.datagrams = 30;
	snapshot_result(w.engine, w.first, w.last, true, w.result);
	assert_true(w.result->uso);
	assert_null(w.result->uso_why);
	assert_int_equal(w.result->super_sent.frames, 6);
	assert_int_equal(w.result->super_sent.datagrams, 50);
	w.last->port[SIDE_CLIENT].tx_cut = 5;
	snapshot_result(w.engine, w.first, w.last, true, w.result);
	assert_true(w.result->uso); // one of them was cut
	w.last->port[SIDE_CLIENT].tx_cut = 6;
	assert_reason("the port could not send them whole, and cut them itself");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_all_is_well, begin, end),
		cmocka_unit_test_setup_teardown(test_begin, begin, end),
		cmocka_unit_test_setup_teardown(test_missed, begin, end),
		cmocka_unit_test_setup_teardown(test_port_missed, begin, end),
		cmocka_unit_test_setup_teardown(test_reflector_full, begin, end),
		cmocka_unit_test_setup_teardown(test_too_few_clients, begin, end),
		cmocka_unit_test_setup_teardown(test_uso, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
