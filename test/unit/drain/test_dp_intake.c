// SPDX-License-Identifier: BSD-3-Clause
// Workers that start to drain while they relay: nothing is lost, and once all of them know, no
// allocation is made.
#include "datapath.h"
#include "dp_intake.h"
#include "dp_world.h"
#include "turn_refusal.h"
#include "turn_shard.h"
#include "path/worker.h"

#define ROUNDS 200

static struct dp_world world;
static const struct world_setup setups[] = {
	{.workers = 1, .rx_queues = 1, .tx_queues = 1},
	{.workers = 2, .rx_queues = 2, .tx_queues = 2, .rss = true},
	{.workers = 3, .rx_queues = 3, .tx_queues = 3},
};

static void tell(bool drains)
{
	dp_intake_set(world.dp, &(struct turn_intake){.drains = drains});
}

static void finish(void)
{
	for (unsigned int i = 0; !dp_intake_step(world.dp); i++) {
		assert_true(i < 100);
		world_round(&world);
	}
}

static void client(struct world_client *c, uint16_t port)
{
	world_client(&world, c, "10.99.0.20", port);
}

// A drain begins and ends repeatedly, while clients of all workers relay.
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
		tell(n % 3 != 2);
		for (unsigned int i = 0; i < 4; i++) {
			client_assert_relays(&world, &c[i], 0x4000, &peer);
			dp_intake_step(world.dp);
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
	tell(true);
	finish();
	for (unsigned int i = 0; i < 32; i++)
		assert_int_equal(client_allocate(&world, &c[i], 4), 508);
	assert_int_equal(world_stats(&world).turn.refused[TURN_REFUSED_DRAINING], 32);
	tell(false);
	finish();
	for (unsigned int i = 0; i < 32; i++)
		assert_int_equal(client_allocate(&world, &c[i], 4), 0);
	world_close(&world);
}

// A process that ends in the middle leaves nothing behind, whichever worker knows by then.
static void a_process_may_end_in_the_middle(void **state)
{
	world_open(&world, *state);
	assert_true(dp_intake_step(world.dp)); // nothing to do
	tell(true);
	finish();
	tell(false);
	assert_false(dp_intake_step(world.dp));
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
