// SPDX-License-Identifier: BSD-3-Clause
// A policy replaces another while workers relay: nothing is lost, each request is judged by one
// policy, and the old one is freed when no thread can read it.
#include <errno.h>

#include "datapath.h"
#include "dp_world.h"
#include "feature_names.h"
#ifdef FEATURE_TCP
#include "features/tcp/relay_tcp.h"
#endif
#include "turn_event.h"
#include "path/worker.h"

#define RELOADS 1000

static struct dp_world world;
static const struct world_setup setups[] = {
	{.workers = 1, .rx_queues = 1, .tx_queues = 1},
	{.workers = 2, .rx_queues = 2, .tx_queues = 2, .rss = true},
	{.workers = 3, .rx_queues = 3, .tx_queues = 3},
	{.workers = 2, .rx_queues = 2, .tx_queues = 2, .rss = true, .shared = WORLD_SHARED(16)},
};

static void begin(const struct turn_config *t, bool lower)
{
	struct conf c = world.conf;
	char error[256];

	c.turn = *t;
	c.lower_ends = lower;
	assert_int_equal(dp_reload_begin(world.dp, &c, false, error, sizeof(error)), 0);
}

// Runs rounds until the reload has ended. Returns the number of allocations that it ended. Each end
// leaves an event, which must be taken.
static unsigned int finish(void)
{
	static struct turn_event events[64];

	for (unsigned int i = 0; i < 1000; i++) {
		const int ended = dp_reload_step(world.dp);

		if (ended >= 0)
			return (unsigned int)ended;
		assert_int_equal(ended, -EAGAIN);
		dp_events(world.dp, events, 64);
		world_round(&world);
	}
	fail_msg("it does not end");
	return 0;
}

// Datagrams are in transit at each step of each reload; every other reload adds or removes a user.
static void nothing_is_lost(void **state)
{
	const struct endpoint peer = world_endpoint("10.99.0.30", 7000);
	struct turn_user users[2];
	struct world_client c[4];
	struct turn_config t;

	world_open(&world, *state);
	for (unsigned int i = 0; i < 4; i++) {
		world_client(&world, &c[i], "10.99.0.20", (uint16_t)(20000 + i));
		assert_int_equal(client_allocate(&world, &c[i], 4), 0);
		assert_int_equal(client_bind(&world, &c[i], 0x4000, &peer), 0);
	}
	t = world.conf.turn;
	users[0] = t.first.users[0];
	users[1] = (struct turn_user){.name = (char *)"petr", .password = (char *)"pw"};
	t.first.users = users;
	for (unsigned int n = 0; n < RELOADS; n++) {
		t.first.nb_users = 1 + n % 2;
		t.limits.per_user = n % 7;
		begin(&t, false);
		for (unsigned int i = 0; i < 4; i++) {
			client_assert_relays(&world, &c[i], 0x4000, &peer);
			if (world.dp->reload != NULL)
				dp_reload_step(world.dp);
		}
		if (world.dp->reload != NULL)
			assert_int_equal(finish(), 0);
	}
	assert_int_equal(world_drops(&world), 0);
	assert_int_equal(world_stats(&world).turn.allocations, 4);
	world_close(&world);
}

// Every worker ends its allocations with a peer that is denied now, within a second of rounds.
static void allocations_of_denied_peers_end(void **state)
{
	const struct endpoint good = world_endpoint("10.99.0.30", 7000);
	const struct endpoint bad = world_endpoint("10.99.0.31", 7000);
	struct world_client c[40];
	struct prefix deny = {bad.addr, 128};
	struct turn_config t;
	struct world_datagram got;

	world_open(&world, *state);
	for (unsigned int i = 0; i < 40; i++) {
		world_client(&world, &c[i], "10.99.0.20", (uint16_t)(20000 + i));
		assert_int_equal(client_allocate(&world, &c[i], 4), 0);
		assert_int_equal(client_bind(&world, &c[i], 0x4000, i % 4 == 0 ? &bad : &good), 0);
	}
	t = world.conf.turn;
	t.deny = &deny;
	t.nb_deny = 1;
	begin(&t, false);
	assert_int_equal(finish(), 10);
	world_run(&world);
	assert_int_equal(world_stats(&world).turn.allocations, 30);
	client_channel_data(&world, &c[0], 0x4000, "x", 1);
	world_run(&world);
	assert_false(world_take(&world, &bad, &got));
	client_begin(&world, &c[0], STUN_REFRESH);
	assert_int_equal(client_ask(&world, &c[0]), 437);
	client_assert_relays(&world, &c[1], 0x4000, &good);
	world_close(&world);
}

#ifdef FEATURE_TCP
static void reload_denying(const struct endpoint *peer, struct prefix *deny)
{
	struct turn_config t = world.conf.turn;

	*deny = (struct prefix){peer->addr, 128};
	t.deny = deny;
	t.nb_deny = 1;
	begin(&t, false);
}

// A stream thread asks about a peer (RFC 6062) that a worker may have allowed by the old rules or
// by the new ones: it is denied only if both deny it. Once all workers have the new rules only
// these apply.
static void a_thread_allows_peers_of_old_and_new_rules(void **state)
{
	const struct endpoint was_denied = world_endpoint("10.99.0.30", 7000);
	const struct endpoint is_denied = world_endpoint("10.99.0.31", 7000);
	const struct endpoint never = world_endpoint("192.0.2.1", 7000);
	struct prefix deny[2];

	world_open(&world, *state);
	reload_denying(&was_denied, &deny[0]);
	finish();
	assert_false(relay_tcp_ops.may_be_peer(world.dp, 0, &was_denied));
	assert_true(relay_tcp_ops.may_be_peer(world.dp, 0, &is_denied));
	reload_denying(&is_denied, &deny[1]);
	assert_false(relay_tcp_ops.may_be_peer(world.dp, 0, &was_denied));
	for (unsigned int i = 0; i < 3; i++) { // workers answer, and the reload is not ticked
		if (i == 0)
			assert_int_equal(dp_reload_step(world.dp), -EAGAIN);
		else
			world_round(&world);
		assert_true(relay_tcp_ops.may_be_peer(world.dp, 0, &was_denied));
		assert_true(relay_tcp_ops.may_be_peer(world.dp, 0, &is_denied));
		assert_false(relay_tcp_ops.may_be_peer(world.dp, 0, &never));
	}
	finish();
	assert_true(relay_tcp_ops.may_be_peer(world.dp, 0, &was_denied));
	assert_false(relay_tcp_ops.may_be_peer(world.dp, 0, &is_denied));
	world_close(&world);
}
#endif

// A user above a lowered limit keeps exactly the new number of allocations, on whichever workers
// they are.
static void a_lower_quota_ends_the_excess(void **state)
{
	struct world_client c[40];
	struct turn_config t;

	world_open(&world, *state);
	for (unsigned int i = 0; i < 40; i++) {
		world_client(&world, &c[i], "10.99.0.20", (uint16_t)(20000 + i));
		assert_int_equal(client_allocate(&world, &c[i], 4), 0);
	}
	t = world.conf.turn;
	t.limits.per_user = 25;
	begin(&t, false);
	assert_int_equal(finish(), 0);
	begin(&t, true);
	assert_int_equal(finish(), 15);
	assert_int_equal(world_stats(&world).turn.allocations, 25);
	t.limits.per_user = 0;
	t.limits.allocations = 7;
	begin(&t, true);
	assert_int_equal(finish(), 18);
	assert_int_equal(world_stats(&world).turn.allocations, 7);
	world_close(&world);
}

// A policy that cannot be made changes nothing; nor does a process that ends in the middle.
static void failed_and_unfinished_reloads_do_no_harm(void **state)
{
	struct turn_user twice[2];
	struct world_client c;
	struct turn_config t;
	struct conf bad;
	char error[256] = "";

	world_open(&world, *state);
	world_client(&world, &c, "10.99.0.20", 20000);
	assert_int_equal(client_allocate(&world, &c, 4), 0);
	t = world.conf.turn;
	twice[0] = twice[1] = t.first.users[0];
	t.first.users = twice;
	t.first.nb_users = 2;
	bad = world.conf;
	bad.turn = t;
	assert_int_equal(dp_reload_begin(world.dp, &bad, false, error, sizeof(error)), -1);
	assert_string_not_equal(error, "");
	assert_null(world.dp->reload);
	begin(&world.conf.turn, false);
	assert_int_equal(dp_reload_begin(world.dp, &world.conf, false, error, sizeof(error)), -1);
	assert_int_equal(dp_reload_step(world.dp), -EAGAIN);
	worker_round(world.dp->worker[0], world.dp->tsc_start + world.ms * world.dp->tsc_per_ms);
	world_close(&world); // one worker has the new policy and the others do not: nothing leaks
}

#ifdef FEATURE_SHARED
// Places of allocations on shared ports are allocated at the start, and a lower limit does not
// reduce them.
static void places_on_shared_ports_are_fixed_at_the_start(void **state)
{
	struct conf c;
	char error[256] = "";

	world_open(&world, *state);
	c = world.conf;
	c.turn.limits.allocations *= 100;
	assert_int_equal(dp_reload_begin(world.dp, &c, false, error, sizeof(error)), -1);
	assert_non_null(strstr(error, "limits.allocations: a larger value needs a restart"));
	c.turn.limits.allocations = 1;
	begin(&c.turn, false);
	assert_int_equal(finish(), 0);
	begin(&world.conf.turn, false);
	assert_int_equal(finish(), 0);
	world_close(&world);
}
#endif

// --- how long it takes ---------------------------------------------------------------------------

#define CROWD 8000 // the time grows with it
#define CROWD_MS (CROWD / 100) // 100,000 in a second

static void wide(struct dp_world *w)
{
	w->conf.events = 1024;
}

// A millisecond of a worker that is full of datagrams from strangers.
static void full_millisecond(struct worker *w, const struct endpoint *dst)
{
	const struct endpoint src = world_endpoint("10.99.0.21", 5000);

	for (unsigned int i = 0; i < 4; i++) {
		for (unsigned int k = 0; k < 32; k++)
			world_send_bytes(&world, &src, dst, "12345678", 8);
		worker_round(w, world.dp->tsc_start + world.ms * world.dp->tsc_per_ms);
	}
	world.ms++;
}

// Management runs every 2 ms, for the reload and for events.
static unsigned int reload_ms(const struct turn_config *t, bool lower, const struct endpoint *dst)
{
	static struct turn_event events[64];
	const uint64_t from_ms = world.ms;
	int ended = -EAGAIN;

	for (begin(t, lower); ended == -EAGAIN; ended = dp_reload_step(world.dp)) {
		while (dp_events(world.dp, events, 64) > 0) {
		}
		full_millisecond(world.dp->worker[0], dst);
		full_millisecond(world.dp->worker[0], dst);
		assert_in_range(world.ms - from_ms, 0, 10 * CROWD_MS);
	}
	print_message(
		"%u ended within %u ms\n", (unsigned int)ended, (unsigned int)(world.ms - from_ms));
	return (unsigned int)ended;
}

// Many allocations with three permissions each; *c is the last client.
static void crowd(struct world_client *c)
{
	static const char *const peer[] = {"10.99.0.30", "10.99.0.31", "10.99.0.32"};
	static struct turn_event events[64];

	for (unsigned int i = 0; i < CROWD; i++) {
		world_client(&world, c, "10.99.0.20", (uint16_t)(20000 + i));
		assert_int_equal(client_allocate(&world, c, 4), 0);
		for (unsigned int k = 0; k < 3; k++) {
			const struct endpoint peer_end = world_endpoint(peer[k], 7000);

			assert_int_equal(client_permit(&world, c, &peer_end), 0);
		}
		while (dp_events(world.dp, events, 64) > 0) {
		}
	}
}

// A worker that is overloaded ends all of them within a second for each hundred thousand, and no
// later with quotas, which are judged one worker after another.
static void a_full_worker_ends_a_crowd_in_time(void **state)
{
	static const struct world_setup one = {
		.workers = 1, .rx_queues = 1, .tx_queues = 1, .relay_ports = 12288, .change = wide};
	struct turn_user new_user = {.name = (char *)"petr", .password = (char *)"pw"};
	struct world_client c;
	struct turn_config t;
	uint64_t from_ms;

	world_open(&world, &one);
	crowd(&c);
	t = world.conf.turn;
	t.first.users = &new_user;
	t.first.nb_users = 1;
	from_ms = world.ms;
	assert_int_equal(reload_ms(&t, true, &c.server), CROWD);
	assert_in_range(world.ms - from_ms, 1, CROWD_MS);
	assert_int_equal(world_stats(&world).session_events_lost, 0);
	world_close(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_CASE(nothing_is_lost, setups, 0),
		WORLD_CASE(nothing_is_lost, setups, 1),
		WORLD_CASE(nothing_is_lost, setups, 2),
		WORLD_CASE(allocations_of_denied_peers_end, setups, 0),
		WORLD_CASE(allocations_of_denied_peers_end, setups, 2),
#ifdef FEATURE_TCP
		WORLD_CASE(a_thread_allows_peers_of_old_and_new_rules, setups, 0),
		WORLD_CASE(a_thread_allows_peers_of_old_and_new_rules, setups, 2),
#endif
		WORLD_CASE(a_lower_quota_ends_the_excess, setups, 0),
		WORLD_CASE(a_lower_quota_ends_the_excess, setups, 2),
		cmocka_unit_test(a_full_worker_ends_a_crowd_in_time),
		WORLD_CASE(failed_and_unfinished_reloads_do_no_harm, setups, 0),
		WORLD_CASE(failed_and_unfinished_reloads_do_no_harm, setups, 2),
#ifdef FEATURE_SHARED
		WORLD_CASE(places_on_shared_ports_are_fixed_at_the_start, setups, 3),
#endif
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
