// SPDX-License-Identifier: BSD-3-Clause
// A capture whose workers must be notified of a change while there is no memory for it.
#include <string.h>

#include "capture/capture.h"
#include "capture/capture_filter.h"
#include "capture/captures.h"
#include "clock.h"
#include "datapath.h"
#include "dp_world.h"
#include "socket/commands.h"
#include "answers/scans.h"
#include "path/worker.h"

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

static const struct capture_filter *workers_have(void)
{
	return world.dp->worker[0]->capture->filter;
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
	assert_non_null(world.dp->worker[0]->capture);
}

static void a_change_waits_for_memory(void **state)
{
	static struct capture_filter before;
	const struct capture_filter *used;
	struct turn_info info = {.id = 77, .client = world_endpoint("10.99.0.20", 40000)};

	open_capture();
	used = workers_have();
	before = *used;
	assert_true(dp_capture_add(world.dp, &info));
	control.captures.dirty = true;
	for (fails = 3; fails > 0;) {
		captures_step(&control);
		assert_true(control.captures.dirty);
		assert_false(control.captures.asking);
		assert_memory_equal(used, &before, sizeof(before));
	}
	captures_step(&control); // and now there is memory
	assert_false(control.captures.dirty);
	assert_true(control.captures.asking);
	assert_ptr_equal(workers_have(), used);
	assert_memory_equal(used, &before, sizeof(before)); // workers still read it
	settle();
	assert_ptr_not_equal(workers_have(), used);
	assert_int_equal(workers_have()->nb, 1);
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
	assert_non_null(world.dp->worker[0]->capture);
	captures_step(&control);
	settle();
	assert_null(world.dp->worker[0]->capture);
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
