// SPDX-License-Identifier: BSD-3-Clause
// A capture whose workers must be notified of a change while there is no memory for it.
#include <string.h>

#include "capture/captures.h"
#include "clock.h"
#include "dp_capture.h"
#include "dp_world.h"
#include "socket/commands.h"
#include "answers/scans.h"

static struct dp_world world;
static struct control control;
static struct client client;
static unsigned int fails; // this number of scans cannot be created

struct scan *__real_scans_new(struct command *c, const struct scan_kind *kind, int worker);
struct scan *__wrap_scans_new(struct command *c, const struct scan_kind *kind, int worker);

struct scan *__wrap_scans_new(struct command *c, const struct scan_kind *kind, int worker)
{
	if (fails > 0) {
		fails--;
		return NULL;
	}
	return __real_scans_new(c, kind, worker);
}

// Steps until workers have answered the questions.
static void settle(void)
{
	for (unsigned int n = 0; control.captures.asking; n++) {
		assert_true(n < 100000);
		scans_step(&control);
		world_round(&world);
	}
}

static void open_capture(void)
{
	const struct world_setup one = {.workers = 1, .rx_queues = 1, .tx_queues = 1};
	const struct dp_capture_wanted w = {.drop = DP_DROP_END, .snap = DP_CAPTURE_SNAP_MAX};

	world_open(&world, &one);
	assert_int_equal(dp_capture_open(world.dp, &w), 0);
	control = (struct control){.dp = world.dp};
	control.captures = (struct captures){.state = CAPTURES_RUNS,
		.client = &client,
		.dirty = true,
		.heard_ms = clock_monotonic_ms(),
		.until_ms = UINT64_MAX,
		.datagrams = 1000,
		.bytes = 1000000,
		.made = json_array()};
	captures_step(&control);
	settle();
	assert_int_equal(world_captured(&world, 0), 0);
}

static void a_change_waits_for_memory(void **state)
{
	struct turn_info info = {.id = 77, .client = world_endpoint("10.99.0.20", 40000)};

	open_capture();
	assert_true(dp_capture_add(world.dp, &info));
	control.captures.dirty = true;
	for (fails = 3; fails > 0;) {
		captures_step(&control);
		assert_true(control.captures.dirty);
		assert_false(control.captures.asking);
		assert_int_equal(world_captured(&world, 0), 0);
	}
	captures_step(&control); // and now there is memory
	assert_false(control.captures.dirty);
	assert_true(control.captures.asking);
	assert_int_equal(world_captured(&world, 0), 0); // the filter that the worker still reads
	settle();
	assert_int_equal(world_captured(&world, 0), 1);
	captures_close(&control);
	world_close(&world);
}

// The end of a capture needs memory, too.
static void an_end_waits_for_memory(void **state)
{
	open_capture();
	control.captures.client = NULL;
	fails = 1;
	captures_step(&control);
	assert_int_equal(control.captures.state, CAPTURES_ENDS);
	assert_int_equal(world_captured(&world, 0), 0);
	captures_step(&control);
	settle();
	assert_int_equal(world_captured(&world, 0), -1);
	captures_step(&control);
	assert_int_equal(control.captures.state, CAPTURES_NONE);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_change_waits_for_memory),
		cmocka_unit_test(an_end_waits_for_memory),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
