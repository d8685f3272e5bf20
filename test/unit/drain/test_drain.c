// SPDX-License-Identifier: BSD-3-Clause
// Drain orders: when a drain is complete, changes by a second order, cancellation, and the effect
// of a reload.
#include "clock.h"
#include "dp_world.h"
#include "drain/drain.h"
#include "reload/reload.h"

#define SECOND UINT64_C(1000)

static struct dp_world world;
static struct mgmt_drain *drain;
static struct mgmt_reload *reload;
static uint64_t now_ms;
static struct mgmt_reload_state reloaded;

static const struct world_setup setups[] = {
	{.workers = 1, .rx_queues = 1, .tx_queues = 1},
	{.workers = 3, .rx_queues = 3, .tx_queues = 3},
};

// A reload that ends when the test says so.
void __wrap_mgmt_reload_state(struct mgmt_reload *r, struct mgmt_reload_state *out);
void __wrap_mgmt_reload_state(struct mgmt_reload *r, struct mgmt_reload_state *out)
{
	*out = reloaded;
}

static void open_with(const struct world_setup *setup)
{
	world_open(&world, setup);
	world.conf.drain = (struct conf_drain){.deadline_s = 3600};
	reloaded = (struct mgmt_reload_state){0};
	drain = mgmt_drain_open(world.dp, &world.conf, reload);
	assert_non_null(drain);
	now_ms = clock_monotonic_ms();
}

static void close_all(void)
{
	mgmt_drain_close(drain);
	world_close(&world);
}

// Rounds and ticks for ms, or until the end. Returns true if the drain is complete.
static bool run(uint64_t ms)
{
	for (const uint64_t end = now_ms + ms; now_ms < end; now_ms += 20) {
		const enum mgmt_drain_step step = mgmt_drain_tick(drain, now_ms);

		if (step == MGMT_DRAIN_ENDED)
			return true;
		world_round(&world);
		world_run(&world);
	}
	return false;
}

static void ask(const struct mgmt_drain_order *o)
{
	mgmt_drain_ask(drain, "the test", o);
}

static struct mgmt_drain_state now(void)
{
	struct mgmt_drain_state s;

	mgmt_drain_state(drain, &s);
	return s;
}

static void client(struct world_client *c, unsigned int i)
{
	world_client(&world, c, "10.99.0.20", (uint16_t)(20000 + i));
}

static void end_of(struct world_client *c)
{
	client_begin(&world, c, STUN_REFRESH);
	stun_put_u32(&c->w, STUN_LIFETIME, 0);
	assert_int_equal(client_ask(&world, c), 0);
}

// The drain is complete when the last allocation ends. Until then new ones are refused, and
// counted.
static void a_drain_ends_with_the_last_allocation(void **state)
{
	struct world_client c[3];

	open_with(*state);
	for (unsigned int i = 0; i < 3; i++)
		client(&c[i], i);
	assert_int_equal(client_allocate(&world, &c[0], 4), 0);
	assert_int_equal(client_allocate(&world, &c[1], 4), 0);
	assert_false(run(SECOND));
	assert_false(now().draining);
	ask(&(struct mgmt_drain_order){0});
	assert_true(now().draining); // at once, before the workers react
	assert_false(run(10 * SECOND));
	assert_int_equal(client_allocate(&world, &c[2], 4), 508);
	assert_int_equal(now().allocations, 2);
	assert_int_equal(now().refused, 1);
	assert_true(now().has_deadline);
	assert_in_range(now().left_s, 3500, 3600);
	end_of(&c[0]);
	assert_false(run(10 * SECOND));
	end_of(&c[1]);
	assert_true(run(SECOND));
	close_all();
}

static void without_allocations_a_drain_ends_at_once(void **state)
{
	open_with(*state);
	ask(&(struct mgmt_drain_order){0});
	assert_true(run(SECOND));
	close_all();
}

static void a_drain_may_end_below_a_number(void **state)
{
	struct world_client c[4];

	open_with(*state);
	for (unsigned int i = 0; i < 4; i++) {
		client(&c[i], i);
		assert_int_equal(client_allocate(&world, &c[i], 4), 0);
	}
	ask(&(struct mgmt_drain_order){.has_below = true, .below = 2});
	assert_int_equal(now().below, 2);
	end_of(&c[0]);
	assert_false(run(SECOND));
	end_of(&c[1]);
	assert_true(run(SECOND));
	assert_int_equal(now().allocations, 2);
	close_all();
}

static void the_deadline_ends_a_drain(void **state)
{
	struct world_client c;

	open_with(*state);
	client(&c, 0);
	assert_int_equal(client_allocate(&world, &c, 4), 0);
	ask(&(struct mgmt_drain_order){.has_deadline = true, .deadline_s = 5});
	assert_false(run(4 * SECOND));
	assert_true(run(2 * SECOND));
	close_all();
}

// Values left out of a second order stay; 0 means no deadline.
static void a_second_order_changes_the_first(void **state)
{
	struct world_client c;

	open_with(*state);
	client(&c, 0);
	assert_int_equal(client_allocate(&world, &c, 4), 0);
	ask(&(struct mgmt_drain_order){.has_deadline = true, .deadline_s = 100});
	ask(&(struct mgmt_drain_order){.has_below = true, .below = 0});
	assert_in_range(now().left_s, 50, 100);
	ask(&(struct mgmt_drain_order){.has_deadline = true, .deadline_s = 0});
	assert_false(now().has_deadline);
	assert_false(run(200 * SECOND));
	ask(&(struct mgmt_drain_order){.has_below = true, .below = 1});
	assert_true(run(SECOND));
	close_all();
}

static void an_order_ends_a_drain(void **state)
{
	struct world_client c[2];

	open_with(*state);
	client(&c[0], 0);
	client(&c[1], 1);
	assert_int_equal(client_allocate(&world, &c[0], 4), 0);
	mgmt_drain_undo(drain, "the test"); // without a drain
	ask(&(struct mgmt_drain_order){.has_deadline = true, .deadline_s = 5});
	assert_false(run(SECOND));
	assert_int_equal(client_allocate(&world, &c[1], 4), 508);
	mgmt_drain_undo(drain, "the test");
	assert_false(now().draining);
	assert_false(run(10 * SECOND));
	assert_int_equal(client_allocate(&world, &c[1], 4), 0);
	end_of(&c[0]);
	end_of(&c[1]);
	assert_false(run(10 * SECOND));
	ask(&(struct mgmt_drain_order){0});
	assert_int_equal(now().refused, 0);
	assert_in_range(now().left_s, 3500, 3600);
	mgmt_drain_undo(drain, "the test"); // before any worker has noticed it
	assert_false(run(10 * SECOND));
	close_all();
}

// A reload: new defaults for later orders.
static void a_reload_while_it_drains(void **state)
{
	struct world_client c[2];

	open_with(*state);
	client(&c[0], 0);
	client(&c[1], 1);
	assert_int_equal(client_allocate(&world, &c[0], 4), 0);
	ask(&(struct mgmt_drain_order){0});
	assert_false(run(SECOND));
	world.conf.drain.deadline_s = 60;
	reloaded.ended++;
	assert_false(run(SECOND));
	assert_int_equal(client_allocate(&world, &c[1], 4), 508);
	assert_in_range(now().left_s, 3000, 3600); // the deadline of this drain is unchanged
	mgmt_drain_undo(drain, "the test");
	assert_false(run(SECOND));
	ask(&(struct mgmt_drain_order){0});
	assert_in_range(now().left_s, 30, 60);
	close_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_CASE(a_drain_ends_with_the_last_allocation, setups, 0),
		WORLD_CASE(a_drain_ends_with_the_last_allocation, setups, 1),
		WORLD_CASE(without_allocations_a_drain_ends_at_once, setups, 1),
		WORLD_CASE(a_drain_may_end_below_a_number, setups, 1),
		WORLD_CASE(the_deadline_ends_a_drain, setups, 0),
		WORLD_CASE(a_second_order_changes_the_first, setups, 1),
		WORLD_CASE(an_order_ends_a_drain, setups, 1),
		WORLD_CASE(a_reload_while_it_drains, setups, 1),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
