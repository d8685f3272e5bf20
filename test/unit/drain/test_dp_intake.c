// SPDX-License-Identifier: BSD-3-Clause
// Workers that start to drain while they relay: nothing is lost, and once all of them know, no
// allocation is made.
#include <errno.h>

#include "addr_text.h"
#include "datapath.h"
#include "dp_intake.h"
#include "dp_world.h"
#include "turn_alternates.h"
#include "turn_refusal.h"
#include "path/worker.h"

#define ROUNDS 200

static struct dp_world world;
static const struct world_setup setups[] = {
	{.workers = 1, .rx_queues = 1, .tx_queues = 1},
	{.workers = 2, .rx_queues = 2, .tx_queues = 2, .rss = true},
	{.workers = 3, .rx_queues = 3, .tx_queues = 3},
};

static struct turn_alternates *make_alternates(const char *addr)
{
	const struct turn_alternates_rule rule = {.when = TURN_ALTERNATES_DRAIN};
	const struct turn_alternate alternate = {.addr = addr_text(addr)};
	struct turn_alternates *d = turn_alternates_create(&rule, &alternate, 1);

	assert_non_null(d);
	return d;
}

static void finish(void)
{
	for (unsigned int i = 0; !dp_alternates_step(world.dp); i++) {
		assert_true(i < 100);
		world_round(&world);
	}
}

static void client(struct world_client *c, uint16_t port)
{
	world_client(&world, c, "10.99.0.20", port);
}

// A drain begins, is changed and ends repeatedly, while clients of all workers relay.
static void nothing_is_lost(void **state)
{
	const struct endpoint peer = world_endpoint("10.99.0.30", 7000);
	struct world_client c[4];

	world_open(&world, *state);
	for (unsigned int i = 0; i < 4; i++) {
		client(&c[i], (uint16_t)(20000 + i));
		assert_int_equal(client_allocate(&world, &c[i], 4), 0);
		assert_int_equal(client_bind(&world, &c[i], 0x4000, &peer), 0);
	}
	for (unsigned int n = 0; n < ROUNDS; n++) {
		assert_int_equal(dp_alternates_set(world.dp,
					 n % 3 == 2 ? NULL : make_alternates("203.0.113.9")),
			0);
		for (unsigned int i = 0; i < 4; i++) {
			client_assert_relays(&world, &c[i], 0x4000, &peer);
			dp_alternates_step(world.dp);
		}
		finish();
	}
	assert_int_equal(world_drops(&world), 0);
	assert_int_equal(world_stats(&world).turn.allocations, 4);
	world_close(&world);
}

// Clients of every worker are refused after the answer of the last worker, and served again after
// the end.
static void every_worker_refuses(void **state)
{
	struct world_client c[32];

	world_open(&world, *state);
	for (unsigned int i = 0; i < 32; i++)
		client(&c[i], (uint16_t)(20000 + i));
	assert_int_equal(dp_alternates_set(world.dp, make_alternates("203.0.113.9")), 0);
	finish();
	for (unsigned int i = 0; i < 32; i++)
		assert_int_equal(client_allocate(&world, &c[i], 4), 300);
	assert_int_equal(dp_alternates_set(world.dp, make_alternates("2001:db8::9")), 0);
	finish();
	for (unsigned int i = 0; i < 32; i++)
		assert_int_equal(client_allocate(&world, &c[i], 4), 508);
	assert_int_equal(world_stats(&world).turn.refused[TURN_REFUSED_ALTERNATE], 32);
	assert_int_equal(world_stats(&world).turn.refused[TURN_REFUSED_DRAINING], 32);
	assert_int_equal(dp_alternates_set(world.dp, NULL), 0);
	finish();
	for (unsigned int i = 0; i < 32; i++)
		assert_int_equal(client_allocate(&world, &c[i], 4), 0);
	world_close(&world);
}

// One change at a time. A process that ends in the middle leaves nothing behind, whichever worker
// has which list by then.
static void a_process_may_end_in_the_middle(void **state)
{
	struct turn_alternates *second;

	world_open(&world, *state);
	assert_true(dp_alternates_step(world.dp)); // nothing to do
	assert_int_equal(dp_alternates_set(world.dp, make_alternates("203.0.113.9")), 0);
	finish();
	assert_int_equal(dp_alternates_set(world.dp, make_alternates("203.0.113.8")), 0);
	second = make_alternates("203.0.113.7");
	assert_int_equal(dp_alternates_set(world.dp, second), -EBUSY);
	turn_alternates_free(second);
	assert_false(dp_alternates_step(world.dp));
	worker_round(world.dp->worker[0], world.dp->tsc_start + world.ms * world.dp->tsc_per_ms);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_CASE(nothing_is_lost, setups, 0),
		WORLD_CASE(nothing_is_lost, setups, 1),
		WORLD_CASE(nothing_is_lost, setups, 2),
		WORLD_CASE(every_worker_refuses, setups, 0),
		WORLD_CASE(every_worker_refuses, setups, 1),
		WORLD_CASE(every_worker_refuses, setups, 2),
		WORLD_CASE(a_process_may_end_in_the_middle, setups, 0),
		WORLD_CASE(a_process_may_end_in_the_middle, setups, 2),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
