// SPDX-License-Identifier: BSD-3-Clause
// Tenants with pools for peers of equal addresses: a peer of one tenant reaches no allocation of
// another.
#include "addr_text.h"
#include "realms_config.h"
#include "turn_policy.h"

#define PEER "10.98.0.9"

static struct turn_config config;
static struct fixture f;
static struct fixture_client ivan, a, b; // of the first realm, of realm a and of realm b

// Relay address 10.99.0.1 is on port 0. Peers in 10.98.0.0/16 see realm a as 10.1.0.2 on port 1,
// realm b as 10.2.0.2 on port 2.
static void pools_make(uint32_t apart)
{
	static struct addr first[1], second[1];
	static struct prefix served[1];
	static char *none[1], *of_a[] = {(char *)"first"}, *of_b[] = {(char *)"second"};
	static struct turn_relay_pool pools[2];
	static struct turn_local local[4];
	static const char *const local_text[] = {"10.99.0.1", "fd99::1", "10.1.0.2", "10.2.0.2"};
	static const uint8_t port[] = {0, 0, 1, 2};

	config = realms_config();
	first[0] = addr_text("10.1.0.2");
	second[0] = addr_text("10.2.0.2");
	assert_int_equal(addr_prefix_parse("10.98.0.0/16", &served[0]), 0);
	pools[0] = (struct turn_relay_pool){(char *)"first", first, served, 1, 1};
	pools[1] = (struct turn_relay_pool){(char *)"second", second, served, 1, 1};
	for (int i = 0; i < 4; i++) {
		local[i] = (struct turn_local){.addr = addr_text(local_text[i]), .port = port[i]};
		local[i].subnet = (struct prefix){.addr = local[i].addr, .len = 128};
	}
	config.relay_pools = pools;
	config.nb_relay_pools = 2;
	config.first.relay_pool_names = none;
	realms_config_of(&config, REALM_A)->relay_pool_names = of_a;
	realms_config_of(&config, REALM_A)->nb_relay_pool_names = 1;
	realms_config_of(&config, REALM_B)->relay_pool_names = of_b;
	realms_config_of(&config, REALM_B)->nb_relay_pool_names = 1;
	config.local = local;
	config.nb_local = 4;
	config.apart = apart;
}

static void open_with(uint32_t apart)
{
	pools_make(apart);
	fixture_open(&f, &config, 1);
	ivan = realms_ivan(FIXTURE_REALM, "198.51.100.7");
	a = realms_ivan(REALM_A, "198.51.100.8");
	b = realms_ivan(REALM_B, "198.51.100.9");
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_allocate(&f, &a, 4), 0);
	assert_int_equal(fixture_allocate(&f, &b, 4), 0);
}

static int setup(void **state)
{
	*state = &f;
	open_with(1 << 1 | 1 << 2);
	return 0;
}

// Verdict for a peer's datagram to an address of a pool; 0 = the relay address itself.
static enum turn_drop comes_by(
	uint32_t pool, const struct fixture_client *c, const char *addr, uint16_t port)
{
	const struct endpoint peer = fixture_endpoint(addr, port);

	f.to_pool = pool;
	return fixture_drop(fixture_from_peer(&f, &c->relay, &peer, "hello", 5));
}

// Sends to the relay address and both pools, often enough to fill every copy that a line may have.
static void takes(const struct fixture_client *c, bool relay, bool first, bool second)
{
	const bool taken[] = {relay, first, second};

	for (unsigned int i = 0; i < 60; i++)
		assert_int_equal(comes_by(i % 3, c, PEER, (uint16_t)(7000 + i % 4)),
			taken[i % 3] ? TURN_OK : TURN_DROP_PEER_OTHER_POOL);
}

static void permit_all(void)
{
	assert_int_equal(fixture_permit(&f, &ivan, PEER), 0);
	assert_int_equal(fixture_permit(&f, &a, PEER), 0);
	assert_int_equal(fixture_permit(&f, &b, PEER), 0);
}

static void a_peer_comes_by_the_pool_of_its_realm(void **state)
{
	permit_all();
	takes(&ivan, true, false, false);
	takes(&a, false, true, false);
	takes(&b, false, false, true);
	assert_int_equal(fixture_bind(&f, &a, 0x4000, PEER, 7000), 0);
	assert_int_equal(fixture_bind(&f, &b, 0x4000, PEER, 7001), 0);
	takes(&a, false, true, false);
	takes(&b, false, false, true);
	// it counts as a loss of the allocation
	assert_int_equal(fixture_refresh(&f, &b, 0), 0);
	assert_int_equal(fixture_event(&f, 0)->usage.lost[TURN_LOSS_PERMISSION], 80);
}

// A peer without a permission gets another drop reason.
static void a_stranger_has_no_permission(void **state)
{
	permit_all();
	for (uint32_t pool = 0; pool < 3; pool++) {
		assert_int_equal(
			comes_by(pool, &a, "10.98.0.10", 7000), TURN_DROP_PEER_NO_PERMISSION);
		assert_int_equal(fixture_refresh(&f, &b, pool == 0 ? 0 : 600), pool == 0 ? 0 : 437);
		assert_int_equal(comes_by(pool, &b, PEER, 7000), TURN_DROP_PEER_NO_ALLOCATION);
	}
}

// A peer whose network is not apart may send to the relayed transport address that its client got.
static void the_relay_address_serves_all_realms_elsewhere(void **state)
{
	fixture_close(&f);
	open_with(1 << 2);
	permit_all();
	takes(&ivan, true, false, false);
	takes(&a, true, true, false);
	takes(&b, false, false, true);
}

// Inside the server there is no network: clients of two tenants may be each other's peers.
static void clients_of_two_realms_talk(void **state)
{
	struct endpoint target = {a.relay.addr, a.relay.port},
			sender = {b.relay.addr, b.relay.port};

	assert_int_equal(fixture_permit(&f, &a, "10.99.0.1"), 0);
	assert_int_equal(fixture_permit(&f, &b, "10.99.0.1"), 0);
	for (int i = 0; i < 2; i++) {
		fixture_begin(&f, STUN_INDICATION, STUN_SEND);
		stun_put_xor_addr(&f.w, STUN_XOR_PEER_ADDRESS, &target);
		stun_put(&f.w, STUN_DATA_ATTR, "hello", 5);
		assert_int_equal(fixture_drop(fixture_send(&f, i == 0 ? &b : &a)), TURN_OK);
		assert_int_equal(
			fixture_drop(fixture_hairpin(&f, &target, &sender, "hello", 5)), TURN_OK);
		target = b.relay;
		sender = a.relay;
	}
}

// With one realm there is no check: all pools belong to it.
static void one_realm_has_all_pools(void **state)
{
	fixture_close(&f);
	pools_make(0);
	config.nb_realms = 0;
	config.first.relay_pool_names = NULL;
	config.nb_relay_pools = 1;
	fixture_open(&f, &config, 1);
	ivan = fixture_client("198.51.100.7", 5000);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	assert_int_equal(fixture_permit(&f, &ivan, PEER), 0);
	for (unsigned int i = 0; i < 40; i++)
		assert_int_equal(comes_by(i % 2, &ivan, PEER, 7000), TURN_OK);
}

// A reload that adds the first such pool, and one that removes the last.
static void reloads_start_and_stop_the_check(void **state)
{
	static const uint8_t key[32];
	struct turn_config one = config;
	struct turn_policy *p;

	permit_all();
	one.nb_realms = 0;
	p = turn_policy_create(&one, f.crypto, key);
	assert_non_null(p);
	turn_shard_set_policy(f.shard, p);
	assert_int_equal(comes_by(1, &ivan, PEER, 7000), TURN_OK);
	turn_shard_set_policy(f.shard, f.policy);
	assert_int_equal(comes_by(1, &ivan, PEER, 7000), TURN_DROP_PEER_OTHER_POOL);
	assert_int_equal(comes_by(0, &ivan, PEER, 7000), TURN_OK);
	turn_policy_free(p);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(a_peer_comes_by_the_pool_of_its_realm),
		T(a_stranger_has_no_permission),
		T(the_relay_address_serves_all_realms_elsewhere),
		T(clients_of_two_realms_talk),
		T(one_realm_has_all_pools),
		T(reloads_start_and_stop_the_check),
	};

	return cmocka_run_group_tests_name("realms_apart", tests, NULL, NULL);
}
