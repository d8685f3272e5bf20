// SPDX-License-Identifier: BSD-3-Clause
// Clients sent to other servers by the section alternate: always, from a given load on, changed by
// a reload, and overridden by a drain.
#include "addr_text.h"
#include "dp_world.h"
#include "features/alternates/alternate.h"
#include "drain/drain.h"
#include "feature_names.h"
#include "reload/reload.h"
#include "turn_refusal.h"

#define SECOND UINT64_C(1000)

static struct dp_world world;
static struct mgmt_drain *drain;
static struct mgmt_reload *reload;
static struct turn_alternate alternate, drains_to;
static uint64_t now_ms;
static struct mgmt_reload_state reloaded;
static unsigned int clients;

#ifdef FEATURE_REALMS
#define OTHER_REALM "other.test"

// A second realm, with its own users.
static void two_realms(struct dp_world *w)
{
	static struct turn_realm realm;

	realm = (struct turn_realm){
		.name = (char *)OTHER_REALM, .users = w->user, .nb_users = 1, .number = 1};
	w->conf.turn.realms = &realm;
	w->conf.turn.nb_realms = 1;
}
#endif

static const struct world_setup setups[] = {
	{.workers = 1, .rx_queues = 1, .tx_queues = 1},
	{.workers = 3, .rx_queues = 3, .tx_queues = 3},
#ifdef FEATURE_REALMS
	{.workers = 1, .rx_queues = 1, .tx_queues = 1, .change = two_realms},
	{.workers = 3, .rx_queues = 3, .tx_queues = 3, .change = two_realms},
#endif
};

// A reload that ends when the test says so.
void __wrap_mgmt_reload_state(struct mgmt_reload *r, struct mgmt_reload_state *out);
void __wrap_mgmt_reload_state(struct mgmt_reload *r, struct mgmt_reload_state *out)
{
	*out = reloaded;
}

// Ticks and rounds until all workers have the new state, and a little longer.
static void settle(void)
{
	for (unsigned int i = 0; i < 20; i++) {
		assert_int_not_equal(mgmt_drain_tick(drain, now_ms), MGMT_DRAIN_ENDED);
		now_ms += 5;
		world_round(&world);
		world_run(&world);
	}
}

static void open_with(const struct world_setup *setup, const struct turn_alternate_config *c)
{
	world_open(&world, setup);
	alternate = (struct turn_alternate){.addr = addr_text("203.0.113.9")};
	world.conf.turn.alternate = *c;
	world.conf.turn.alternate.servers = &alternate;
	world.conf.drain = (struct conf_drain){.deadline_s = 3600};
	reloaded = (struct mgmt_reload_state){0};
	clients = 0;
	drain = mgmt_drain_open(world.dp, &world.conf, reload);
	assert_non_null(drain);
	now_ms = SECOND;
	settle();
}

static void close_all(void)
{
	mgmt_drain_close(drain);
	world_close(&world);
}

// The answer to another client; *c keeps its allocation.
static int allocate(struct world_client *c)
{
	world_client(&world, c, "10.99.0.20", (uint16_t)(20000 + clients++));
	return client_allocate(&world, c, 4);
}

static struct mgmt_alternates_state state_now(void)
{
	struct mgmt_alternates_state s;

	mgmt_alternates_state(&s);
	return s;
}

static void nothing_is_said_without_servers(void **state)
{
	const struct turn_alternate_config none = {0};
	struct world_client c;

	open_with(*state, &none);
	assert_int_equal(allocate(&c), 0);
	assert_int_equal(state_now().servers, 0);
	assert_false(state_now().sends);
	close_all();
}

static void without_thresholds_all_are_sent_away(void **state)
{
	const struct turn_alternate_config all = {.nb_servers = 1};
	struct world_client c;

	open_with(*state, &all);
	for (unsigned int i = 0; i < 8; i++)
		assert_int_equal(allocate(&c), 300);
	world_round(&world);
	assert_true(state_now().sends);
	assert_int_equal(state_now().reason, TURN_ALTERNATES_ALWAYS);
	assert_int_equal(state_now().sent, 8);
	assert_int_equal(world_stats(&world).turn.refused[TURN_REFUSED_ALTERNATE_ALWAYS], 8);
	close_all();
}

// All workers together make this number of allocations, and not one more.
static void a_number_of_allocations_sends_clients_away(void **state)
{
	const struct turn_alternate_config few = {.nb_servers = 1, .allocations = 5};
	struct world_client c[8];

	open_with(*state, &few);
	for (unsigned int i = 0; i < 8; i++) {
		assert_int_equal(state_now().sends, i >= 5);
		assert_int_equal(allocate(&c[i]), i < 5 ? 0 : 300);
		settle();
	}
	client_begin(&world, &c[0], STUN_REFRESH);
	stun_put_u32(&c[0].w, STUN_LIFETIME, 0);
	assert_int_equal(client_ask(&world, &c[0]), 0);
	settle();
	assert_false(state_now().sends);
	assert_int_equal(allocate(&c[0]), 0);
	close_all();
}

// Relays n datagrams in each direction for each of nb clients in a second. Lines count them in
// steps of 64.
static void second_of(
	struct world_client *c, unsigned int nb, const struct endpoint *peer, unsigned int n)
{
	const uint64_t end = now_ms + SECOND;

	for (unsigned int i = 0; i < n * nb; i++)
		client_assert_relays(&world, &c[i % nb], 0x4000, peer); // one in each direction
	while (now_ms < end)
		settle();
}

static void second(struct world_client *c, const struct endpoint *peer, unsigned int n)
{
	second_of(c, 1, peer, n);
}

// Starts in a second with this many datagrams, and stops in one with an eighth less.
static void a_rate_of_datagrams_sends_clients_away(void **state)
{
	const struct turn_alternate_config fast = {.nb_servers = 1, .datagrams = 1000};
	const struct endpoint peer = world_endpoint("10.99.0.30", 7000);
	struct world_client c, next;

	open_with(*state, &fast);
	assert_int_equal(allocate(&c), 0);
	assert_int_equal(client_bind(&world, &c, 0x4000, &peer), 0);
	second(&c, &peer, 64 * 6);
	second(&c, &peer, 64 * 6); // 768 in both directions
	assert_in_range(state_now().datagrams, 600, 900);
	assert_int_equal(allocate(&next), 0);
	second(&c, &peer, 64 * 9);
	second(&c, &peer, 64 * 9); // 1152
	assert_in_range(state_now().datagrams, 1000, 1200);
	assert_true(state_now().sends);
	assert_int_equal(state_now().reason, TURN_ALTERNATES_DATAGRAMS);
	assert_int_equal(allocate(&next), 300);
	second(&c, &peer, 64 * 15 / 2);
	second(&c, &peer, 64 * 15 / 2); // 960: not low enough
	assert_int_equal(allocate(&next), 300);
	second(&c, &peer, 64 * 6);
	second(&c, &peer, 64 * 6);
	assert_false(state_now().sends);
	assert_int_equal(allocate(&next), 0);
	assert_int_equal(world_stats(&world).turn.refused[TURN_REFUSED_ALTERNATE_DATAGRAMS], 2);
	close_all();
}

#ifdef FEATURE_REALMS
// The datagrams of all realms are added up, whichever realm they belong to.
static void all_realms_count(void **state)
{
	const struct turn_alternate_config fast = {.nb_servers = 1, .datagrams = 1000};
	const struct endpoint peer = world_endpoint("10.99.0.30", 7000);
	struct world_client c[2], next;

	open_with(*state, &fast);
	for (unsigned int i = 0; i < 2; i++) {
		world_client(&world, &c[i], "10.99.0.20", (uint16_t)(20000 + clients++));
		if (i == 1)
			client_realm(&world, &c[i], OTHER_REALM);
		assert_int_equal(client_allocate(&world, &c[i], 4), 0);
		assert_int_equal(client_bind(&world, &c[i], 0x4000, &peer), 0);
	}
	for (unsigned int i = 0; i < 2; i++) {
		second_of(&c[i], 1, &peer, 64 * 6);
		second_of(&c[i], 1, &peer, 64 * 6); // 768 in both directions
		assert_in_range(state_now().datagrams, 600, 900);
		assert_int_equal(allocate(&next), 0);
	}
	second_of(c, 2, &peer, 64 * 5);
	second_of(c, 2, &peer, 64 * 5); // 1280
	assert_in_range(state_now().datagrams, 1000, 1400);
	assert_int_equal(state_now().reason, TURN_ALTERNATES_DATAGRAMS);
	assert_int_equal(allocate(&next), 300);
	second_of(&c[1], 1, &peer, 64 * 9);
	second_of(&c[1], 1, &peer, 64 * 9); // 1152, all of the second realm
	assert_true(state_now().sends);
	assert_int_equal(allocate(&next), 300);
	close_all();
}
#endif

// Dropped datagrams send no client away: strangers can send any number of them.
static void dropped_datagrams_do_not_count(void **state)
{
	const struct turn_alternate_config fast = {.nb_servers = 1, .datagrams = 100};
	struct world_client c, stranger;

	open_with(*state, &fast);
	world_client(&world, &stranger, "10.99.0.21", 30000);
	for (unsigned int n = 0; n < 3; n++) {
		const uint64_t end = now_ms + SECOND;

		for (unsigned int i = 0; i < 500; i++) {
			client_channel_data(&world, &stranger, 0x4000, "x", 1);
			world_round(&world);
		}
		while (now_ms < end)
			settle();
	}
	assert_true(world_drops(&world) >= 1500);
	assert_int_equal(state_now().datagrams, 0);
	assert_int_equal(allocate(&c), 0);
	close_all();
}

// Clients that are refused from then on get the addresses of the new file.
static void a_reload_changes_thresholds(void **state)
{
	const struct turn_alternate_config few = {.nb_servers = 1, .allocations = 1};
	struct world_client c;

	open_with(*state, &few);
	assert_int_equal(allocate(&c), 0);
	assert_int_equal(allocate(&c), 300);
	world.conf.turn.alternate.allocations = 2;
	reloaded.ended++;
	settle();
	assert_int_equal(allocate(&c), 0);
	assert_int_equal(allocate(&c), 300);
	alternate.addr = addr_text("2001:db8::9");
	reloaded.ended++;
	settle();
	assert_int_equal(allocate(&c), 0); // no alternate of its family
	world.conf.turn.alternate.nb_servers = 0;
	reloaded.ended++;
	settle();
	assert_int_equal(allocate(&c), 0);
	assert_int_equal(state_now().servers, 0);
	close_all();
}

// A drain has its own list, or else uses this one. Afterwards the old state returns.
static void a_drain_goes_first(void **state)
{
	const struct turn_alternate_config few = {.nb_servers = 1, .allocations = 100};
	struct world_client c;

	open_with(*state, &few);
	assert_int_equal(allocate(&c), 0);
	mgmt_drain_ask(drain, "the test", &(struct mgmt_drain_order){0});
	settle();
	assert_int_equal(allocate(&c), 300);
	assert_int_equal(world_stats(&world).turn.refused[TURN_REFUSED_ALTERNATE], 1);
	assert_false(state_now().sends);
	drains_to = (struct turn_alternate){.addr = addr_text("2001:db8::8")};
	world.conf.turn.alternate.drain = &drains_to;
	world.conf.turn.alternate.nb_drain = 1;
	settle();
	assert_int_equal(allocate(&c), 300); // not known to the workers yet
	reloaded.ended++;
	settle();
	assert_int_equal(allocate(&c), 508);
	mgmt_drain_undo(drain, "the test");
	settle();
	assert_int_equal(allocate(&c), 0);
	close_all();
}

// Lists are replaced while clients relay: nothing is lost, and all workers have the last one.
static void lists_change_while_clients_relay(void **state)
{
	const struct endpoint peer = world_endpoint("10.99.0.30", 7000);
	struct world_client c[4], newcomer;

	open_with(*state, &(struct turn_alternate_config){0});
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(allocate(&c[i]), 0);
		assert_int_equal(client_bind(&world, &c[i], 0x4000, &peer), 0);
	}
	world.conf.turn.alternate.nb_servers = 1;
	for (unsigned int n = 0; n < 100; n++) {
		alternate.addr = addr_text(n % 2 == 0 ? "203.0.113.8" : "2001:db8::9");
		reloaded.ended++;
		for (unsigned int i = 0; i < 4; i++) {
			mgmt_drain_tick(drain, ++now_ms);
			client_assert_relays(&world, &c[i], 0x4000, &peer);
		}
		if (n % 10 != 8)
			continue;
		settle();
		for (unsigned int i = 0; i < 16; i++)
			assert_int_equal(allocate(&newcomer), 300);
	}
	assert_int_equal(world_drops(&world), 0);
	mgmt_drain_tick(drain, ++now_ms); // the process may end in the middle of a change
	close_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WORLD_CASE(nothing_is_said_without_servers, setups, 0),
		WORLD_CASE(without_thresholds_all_are_sent_away, setups, 0),
		WORLD_CASE(without_thresholds_all_are_sent_away, setups, 1),
		WORLD_CASE(a_number_of_allocations_sends_clients_away, setups, 0),
		WORLD_CASE(a_number_of_allocations_sends_clients_away, setups, 1),
		WORLD_CASE(a_rate_of_datagrams_sends_clients_away, setups, 1),
#ifdef FEATURE_REALMS
		WORLD_CASE(all_realms_count, setups, 2),
		WORLD_CASE(all_realms_count, setups, 3),
#endif
		WORLD_CASE(dropped_datagrams_do_not_count, setups, 1),
		WORLD_CASE(a_reload_changes_thresholds, setups, 1),
		WORLD_CASE(a_drain_goes_first, setups, 1),
		WORLD_CASE(lists_change_while_clients_relay, setups, 0),
		WORLD_CASE(lists_change_while_clients_relay, setups, 1),
	};

	world_eal();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
