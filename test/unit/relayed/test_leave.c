// SPDX-License-Identifier: BSD-3-Clause
// Another address replaces a relay address and a listener's address: allocations on the old one
// end, nothing else ends, and the new one works as if it had been there from the start.
#include "addr_text.h"
#include "turn_fixture.h"
#include "turn_leave.h"
#include "turn_listing.h"

#define V6 1 // index of the IPv6 relay address and listener

static struct fixture f;
static struct addr relay[2];
static struct turn_listener listeners[2];

static unsigned int leave(const struct turn_leave *l, unsigned int most)
{
	struct turn_walk w = {0};
	unsigned int ended = 0;

	for (unsigned int calls = 0; !w.end; calls++) {
		const unsigned int n = turn_leave_walk(f.shard, l, &w, most);

		assert_true(calls < 1000);
		assert_true(n <= most);
		ended += n;
	}
	return ended;
}

static struct turn_leave of_v6(bool relays, bool listens)
{
	return (struct turn_leave){.relay = {V6}, .nb_relay = relays, .listener = {listens << V6}};
}

static void open(void)
{
	const struct turn_config c = fixture_config();

	fixture_open(&f, &c, 1);
}

static void only_allocations_of_the_address_end(void **state)
{
	struct fixture_client stays = fixture_client("198.51.100.7", 5000);
	struct fixture_client by_relay = fixture_client("198.51.100.8", 5000);
	struct fixture_client by_listener = fixture_client("2001:db8::7", 5000);
	struct fixture_client by_both = fixture_client("2001:db8::8", 5000);
	const struct turn_leave relays = of_v6(true, false), listens = of_v6(false, true);

	open();
	assert_int_equal(fixture_allocate(&f, &stays, 4), 0);
	assert_int_equal(fixture_allocate(&f, &by_relay, 6), 0);
	assert_int_equal(fixture_allocate(&f, &by_listener, 4), 0);
	assert_int_equal(fixture_allocate(&f, &by_both, 6), 0);
	assert_int_equal(leave(&relays, 1), 2);
	assert_int_equal(leave(&listens, 1), 1);
	assert_int_equal(f.told.ended[TURN_END_ADDRESS], 3);
	assert_int_equal(fixture_stats(&f).allocations, 1);
	assert_int_equal(fixture_refresh(&f, &stays, 600), 0);
	assert_int_equal(fixture_refresh(&f, &by_relay, 600), 437);
	fixture_close(&f);
}

// The events of ended allocations name their old address.
static void the_new_address_is_used(void **state)
{
	struct fixture_client old = fixture_client("2001:db8::8", 5000), c = old;
	const struct endpoint peer = fixture_endpoint("fd99::9", 7000);
	const struct addr new = addr_text("fd99::77"), was = addr_text("fd99::1");
	const struct turn_leave both = of_v6(true, true);
	struct turn_config moved = fixture_config();
	struct turn_policy *before, *after;

	open();
	assert_int_equal(fixture_allocate(&f, &old, 6), 0);
	assert_true(addr_eq(&old.relay.addr, &was));
	assert_int_equal(leave(&both, 100), 1);
	assert_true(addr_eq(&fixture_event(&f, 0)->relay.addr, &was));
	for (unsigned int i = 0; i < 2; i++) {
		relay[i] = i == V6 ? new : moved.relay[i];
		listeners[i] = moved.listeners[i];
	}
	listeners[V6].endpoint.addr = new;
	moved.relay = relay;
	moved.listeners = listeners;
	before = f.policy;
	after = turn_policy_move(before, &moved);
	assert_non_null(after);
	turn_relay_map_move(f.map, V6, &new);
	assert_int_equal(turn_relay_map_find(f.map, &new), V6);
	assert_int_equal(turn_relay_map_find(f.map, &was), -1);
	turn_shard_set_policy(f.shard, after);
	turn_shard_move(f.shard, &moved);
	f.policy = after;
	f.params.policy = after;
	turn_policy_moved_free(before);
	assert_int_equal(turn_policy_peer(after, &new, 50000), TURN_PEER_OWN);
	assert_int_not_equal(turn_policy_peer(after, &was, 50000), TURN_PEER_OWN);
	assert_int_equal(fixture_allocate(&f, &c, 6), 0);
	assert_true(addr_eq(&c.relay.addr, &new));
	assert_int_equal(fixture_bind(&f, &c, 0x4000, "fd99::9", 7000), 0);
	assert_int_equal(fixture_from_peer(&f, &c.relay, &peer, "x", 1)->verdict, TURN_RELAY);
	fixture_close(&f);
}

// A call is part of a round, during which datagrams wait. It ends only some of many allocations.
static void a_call_is_bounded(void **state)
{
	const struct turn_leave relays = of_v6(true, false);
	struct turn_config conf = fixture_config();
	struct turn_walk w = {0};
	unsigned int n;

	conf.port_hi = 51000;
	fixture_open(&f, &conf, 1);
	for (uint16_t i = 0; i < 300; i++) {
		struct fixture_client c = fixture_client("198.51.100.8", (uint16_t)(5000 + i));

		assert_int_equal(fixture_allocate(&f, &c, 6), 0);
	}
	n = turn_leave_walk(f.shard, &relays, &w, 1000);
	assert_false(w.end);
	assert_in_range(n, 100, 299);
	while (!w.end)
		n += turn_leave_walk(f.shard, &relays, &w, 1000);
	assert_int_equal(n, 300);
	fixture_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_allocations_of_the_address_end),
		cmocka_unit_test(the_new_address_is_used),
		cmocka_unit_test(a_call_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
