// SPDX-License-Identifier: BSD-3-Clause
// The control socket's status of a data path: a warning if packet buffers are few, and if its clock
// is wrong.
#include <stdlib.h>
#include <string.h>

#include <jansson.h>
#include <rte_mbuf.h>

#include "dp_world.h"
#include "drain/drain.h"
#include "events/events.h"
#include "reload/reload.h"
#include "reload/own_change.h"
#include "socket/commands.h"
#include "watch/clock_rate.h"

#define MBUFS 4095

static struct dp_world world;
static struct control control;

static int setup(void **state)
{
	const struct world_setup one = {
		.workers = 1, .rx_queues = 1, .tx_queues = 1, .mbufs = MBUFS};
	const struct own_parts none = {0};
	char error[CONF_ERROR_LEN];

	world_open(&world, &one);
	control = (struct control){.dp = world.dp, .conf = &world.conf};
	control.events = mgmt_events_open(&world.conf, error, sizeof(error));
	control.reload = mgmt_reload_open(&none, &world.conf);
	control.drain = mgmt_drain_open(world.dp, &world.conf, control.reload);
	assert_true(control.events != NULL && control.reload != NULL && control.drain != NULL);
	return facts_open(&control);
}

static int teardown(void **state)
{
	facts_close(&control);
	mgmt_drain_close(control.drain);
	mgmt_reload_close(control.reload);
	mgmt_events_close(control.events);
	world_close(&world);
	return 0;
}

// Number of the status's warnings that contain a text.
static unsigned int warnings(const char *text)
{
	struct command c = {.control = &control, .in = json_object(), .out = json_object()};
	const json_t *one;
	unsigned int n = 0;
	size_t i;

	assert_int_equal(facts_status(&c), COMMAND_DONE);
	json_array_foreach(json_object_get(c.out, "warnings"), i, one)
	{
		n += strstr(json_string_value(one), text) != NULL;
	}
	json_decref(c.in);
	json_decref(c.out);
	return n;
}

static void it_warns_of_few_packet_buffers(void **state)
{
	static struct rte_mbuf *taken[MBUFS];
	unsigned int n;
	char text[80];

	world.conf.path = (char *)(uintptr_t) "status.yaml";
	n = world_take_buffers(&world, MBUFS / 20, taken);
	assert_int_equal(warnings("packet buffers"), 0);
	n += world_take_buffers(&world, MBUFS / 20 - 1, &taken[n]);
	snprintf(text, sizeof(text), "%u of %u packet buffers are free: workers are overloaded",
		MBUFS / 20 - 1, MBUFS);
	assert_int_equal(warnings(text), 1);
	rte_pktmbuf_free_bulk(taken, n);
	assert_int_equal(warnings("packet buffers"), 0);
}

static void it_warns_of_a_clock_that_is_wrong(void **state)
{
	world.conf.path = (char *)(uintptr_t) "status.yaml";
	assert_int_equal(warnings("the workers' clock"), 0);
	for (uint64_t s = 0; s <= 60; s++)
		clock_rate_tick(1000 + s * 950, 500 + s * 1000);
	assert_int_equal(warnings("the workers' clock (TSC) is 5.0 % too slow"), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(it_warns_of_few_packet_buffers, setup, teardown),
		cmocka_unit_test_setup_teardown(it_warns_of_a_clock_that_is_wrong, setup, teardown),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
