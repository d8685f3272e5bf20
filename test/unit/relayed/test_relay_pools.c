// SPDX-License-Identifier: BSD-3-Clause
// Pools of relay addresses: the address that a peer sees. An allocation remains one allocation.
#include "addr_text.h"
#include "stun.h"
#include "turn_fixture.h"

static struct fixture f;
static struct fixture_client ivan, eve;

// Relay addresses 10.99.0.1 and fd99::1. Peers in 10.0.0.0/8 see 10.1.0.2 instead of the first one;
// those in 10.98.0.0/16 see 10.2.0.2.
static struct turn_config pooled(void)
{
	static struct addr lan[1], dmz[1];
	static struct prefix lan_peers[1], dmz_peers[1], allow[1];
	static struct turn_relay_pool pools[2];
	static struct turn_local local[4];
	struct turn_config c = fixture_config();

	lan[0] = addr_text("10.1.0.2");
	dmz[0] = addr_text("10.2.0.2");
	assert_int_equal(addr_prefix_parse("10.0.0.0/8", &lan_peers[0]), 0);
	assert_int_equal(addr_prefix_parse("10.98.0.0/16", &dmz_peers[0]), 0);
	allow[0] = lan_peers[0];
	pools[0] = (struct turn_relay_pool){"lan", lan, lan_peers, 1, 1};
	pools[1] = (struct turn_relay_pool){"dmz", dmz, dmz_peers, 1, 1};
	local[0] = (struct turn_local){
		.addr = addr_text("10.99.0.1"), .external = addr_text("203.0.113.1")};
	local[1] = (struct turn_local){.addr = addr_text("fd99::1")};
	local[2] = (struct turn_local){.addr = lan[0]};
	local[3] = (struct turn_local){.addr = dmz[0], .external = addr_text("203.0.113.2")};
	for (int i = 0; i < 4; i++)
		local[i].subnet = (struct prefix){.addr = local[i].addr, .len = 128};
	c.relay_pools = pools;
	c.nb_relay_pools = 2;
	c.local = local;
	c.nb_local = 4;
	c.allow = allow;
	c.nb_allow = 1;
	return c;
}

static int setup(void **state)
{
	const struct turn_config c = pooled();

	*state = &f;
	fixture_open(&f, &c, 1);
	ivan = fixture_client("198.51.100.7", 5000);
	eve = fixture_eve("198.51.100.8", 6000);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_allocate(&f, &eve, 4), 0);
	return 0;
}

// The source of ivan's data that the peer of a channel sees.
static struct endpoint seen_by(const char *peer, uint16_t channel)
{
	const struct turn_plan *plan;
	struct turn_path path;

	assert_int_equal(fixture_bind(&f, &ivan, channel, peer, 7000), 0);
	plan = fixture_channel_data(&f, &ivan, channel, "hello", 5);
	assert_int_equal(plan->verdict, TURN_RELAY);
	turn_route_path(f.shard, plan->flow, &path);
	assert_int_equal(path.src.port, ivan.relay.port);
	return path.src;
}

static void peers_see_the_address_of_their_pool(void **state)
{
	static const struct {
		const char *peer, *source;
	} cases[] = {{"10.5.0.9", "10.1.0.2"}, {"10.98.0.9", "10.2.0.2"}, {"9.9.9.9", "10.99.0.1"},
		{"10.5.0.10", "10.1.0.2"}, {"10.97.255.255", "10.1.0.2"}};

	// twice: the line has a copy of one channel at a time
	for (int again = 0; again < 2; again++) {
		for (uint16_t i = 0; i < 5; i++) {
			const struct endpoint src = seen_by(cases[i].peer, (uint16_t)(0x4000 + i));

			assert_addr(&src.addr, cases[i].source);
		}
	}
}

static void a_send_goes_out_from_the_pool_of_its_peer(void **state)
{
	const struct endpoint peers[] = {fixture_endpoint("10.5.0.9", 7000),
		fixture_endpoint("9.9.9.9", 7000), fixture_endpoint("10.98.0.9", 7000)};
	static const char *const sources[] = {"10.1.0.2", "10.99.0.1", "10.2.0.2"};
	static const char *const texts[] = {"10.5.0.9", "9.9.9.9", "10.98.0.9"};

	for (unsigned int i = 0; i < 30; i++) {
		const struct turn_plan *plan;
		struct endpoint src;

		assert_int_equal(fixture_permit(&f, &ivan, texts[i % 3]), 0);
		fixture_begin(&f, STUN_INDICATION, STUN_SEND);
		stun_put_xor_addr(&f.w, STUN_XOR_PEER_ADDRESS, &peers[i % 3]);
		stun_put(&f.w, STUN_DATA_ATTR, "hello", 5);
		plan = fixture_send(&f, &ivan);
		src = f.burst.side.src;
		if (plan->verdict == TURN_RELAY) {
			struct turn_path path;

			turn_route_path(f.shard, plan->flow, &path);
			src = path.src;
		}
		assert_addr(&src.addr, sources[i % 3]);
		assert_int_equal(src.port, ivan.relay.port);
	}
}

// Whatever its peers see, the allocation has one address.
static void the_client_is_told_one_address(void **state)
{
	assert_addr(&ivan.relay.addr, "203.0.113.1");
	seen_by("10.5.0.9", 0x4000);
	assert_int_equal(fixture_refresh(&f, &ivan, 600), 0);
	assert_int_equal(fixture_refresh(&f, &ivan, 0), 0);
	assert_int_equal(fixture_stats(&f).allocations, 1);
}

static void data_of_a_pools_peer_comes_by_its_channel(void **state)
{
	const struct endpoint relay = {addr_text("10.99.0.1"), ivan.relay.port};
	const struct endpoint peer = fixture_endpoint("10.5.0.9", 7000);

	seen_by("10.5.0.9", 0x4000);
	assert_int_equal(fixture_from_peer(&f, &relay, &peer, "hello", 5)->channel, 0x4000);
}

// Between clients of the box each has one address, whichever form names it.
static void other_clients_are_in_no_pool(void **state)
{
	static const char *const forms[] = {
		"10.99.0.1", "203.0.113.1", "10.1.0.2", "10.2.0.2", "203.0.113.2"};

	for (int i = 0; i < 5; i++) {
		const struct endpoint target = fixture_endpoint(forms[i], eve.relay.port);
		const struct turn_plan *plan;

		assert_int_equal(fixture_permit(&f, &ivan, forms[i]), 0);
		fixture_begin(&f, STUN_INDICATION, STUN_SEND);
		stun_put_xor_addr(&f.w, STUN_XOR_PEER_ADDRESS, &target);
		stun_put(&f.w, STUN_DATA_ATTR, "hello", 5);
		plan = fixture_send(&f, &ivan);
		assert_int_equal(plan->verdict, TURN_SEND);
		assert_addr(&f.burst.side.src.addr, "10.99.0.1");
		assert_addr(&f.burst.side.dst.addr, "10.99.0.1");
	}
}

// So it has one channel (RFC 8656 section 12.2), and another form gets no second one. A client that
// knows nothing of pools has made no mistake then.
static void another_form_gets_no_second_channel(void **state)
{
	static const char *const forms[] = {
		"10.99.0.1", "203.0.113.1", "10.1.0.2", "10.2.0.2", "203.0.113.2"};

	for (int i = 0; i < 5; i++) {
		assert_int_equal(fixture_bind(&f, &ivan, 0x4000, forms[i], eve.relay.port), 0);
		for (int j = 0; j < 5; j++)
			assert_int_equal(fixture_bind(&f, &ivan, 0x4001, forms[j], eve.relay.port),
				i == j ? 400 : 508);
		fixture_close(&f);
		setup(state);
	}
}

// IPv6 has no pool here.
static void a_family_without_a_pool_has_its_relay_address(void **state)
{
	struct fixture_client six = fixture_client("2001:db8::7", 5000);
	const struct turn_plan *plan;
	struct turn_path path;

	assert_int_equal(fixture_allocate(&f, &six, 6), 0);
	assert_int_equal(fixture_bind(&f, &six, 0x4000, "2001:470::9", 7000), 0);
	plan = fixture_channel_data(&f, &six, 0x4000, "hello", 5);
	turn_route_path(f.shard, plan->flow, &path);
	assert_addr(&path.src.addr, "fd99::1");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(peers_see_the_address_of_their_pool),
		T(a_send_goes_out_from_the_pool_of_its_peer),
		T(the_client_is_told_one_address),
		T(data_of_a_pools_peer_comes_by_its_channel),
		T(other_clients_are_in_no_pool),
		T(another_form_gets_no_second_channel),
		T(a_family_without_a_pool_has_its_relay_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
