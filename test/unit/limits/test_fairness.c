// SPDX-License-Identifier: BSD-3-Clause
// A greedy user takes as much as possible of what all users of a shard share: permissions, channels
// and the peers of shared ports. The other users still get their part.
#include "turn_fixture.h"

#include <stdio.h>

#define GREEDY 9 // allocations of the greedy user
#ifdef FEATURE_SHARED
#define PORTS 8 // shared relay ports
#endif
#define EACH 256 // permissions and channels that each allocation may have

static struct fixture f;
static struct fixture_client eve[GREEDY];

// 1,088 ports of each family.
static struct turn_config config(void)
{
	struct turn_config c = fixture_config();

	c.port_lo = 50000;
	c.port_hi = 51087;
	c.limits.permissions = c.limits.channels = EACH;
	c.nonce_lifetime_s = 86400;
	return c;
}

static struct turn_pools pools(void)
{
	return turn_shard_pools(&f.params);
}

static void open_world(const struct turn_config *c)
{
	fixture_open(&f, c, 1);
	for (unsigned int i = 0; i < GREEDY; i++) {
		eve[i] = fixture_eve("198.51.100.66", (uint16_t)(1000 + i));
		assert_int_equal(fixture_allocate(&f, &eve[i], 4), 0);
	}
}

static unsigned int bind_nth(struct fixture_client *c, unsigned int n)
{
	return fixture_bind(&f, c, (uint16_t)(CHANNEL_MIN + n), "10.98.0.1", (uint16_t)(1000 + n));
}

static unsigned int permit_nth(struct fixture_client *c, unsigned int n)
{
	char peer[ADDR_TEXT_LEN];

	snprintf(peer, sizeof(peer), "10.98.%u.%u", 1 + n / 250, 1 + n % 250);
	return fixture_permit(&f, c, peer);
}

// Calls make_nth() EACH times for each of eve's allocations. Returns how often it succeeded.
static unsigned int take_all(unsigned int (*make_nth)(struct fixture_client *c, unsigned int n))
{
	unsigned int got = 0;

	for (unsigned int i = 0; i < GREEDY; i++) {
		for (unsigned int n = 0; n < EACH; n++) {
			const unsigned int code = make_nth(&eve[i], n);

			assert_true(code == 0 || code == 508);
			got += code == 0;
		}
	}
	return got;
}

// Makes all allocations that other users can still get, and two permissions and a channel for each.
// Returns the number of allocations.
static unsigned int serve_others(void)
{
	unsigned int n = 0;

	for (;; n++) {
		struct fixture_client c = fixture_client(
			n % 2 == 0 ? "198.51.100.7" : "203.0.113.9", (uint16_t)(1 + n));

		if (fixture_allocate(&f, &c, 4) != 0)
			return n;
		assert_int_equal(bind_nth(&c, 0), 0); // a permission and a channel
		assert_int_equal(permit_nth(&c, 0), 0);
	}
}

static void a_greedy_user_takes_no_channels_of_others(void **state)
{
	const struct turn_config c = config();
	unsigned int got;

	open_world(&c);
	got = take_all(bind_nth);
	// one for each allocation, and a quarter of the rest of the pool
	assert_int_equal(got, GREEDY + pools().channels / 4);
	assert_int_equal(fixture_stats(&f).channels, got);
	assert_int_equal(fixture_stats(&f).pool_refused, GREEDY * EACH - got);
	assert_int_equal(serve_others(), 1088 - GREEDY);
	fixture_close(&f);
}

static void a_greedy_user_takes_no_permissions_of_others(void **state)
{
	const struct turn_config c = config();
	unsigned int got;

	open_world(&c);
	got = take_all(permit_nth);
	assert_int_equal(got, 2 * GREEDY + pools().permissions / 4);
	assert_int_equal(fixture_stats(&f).permissions, got);
	assert_int_equal(serve_others(), 1088 - GREEDY);
	fixture_close(&f);
}

// Two greedy users together use up the shared part of the pool, but nothing of the part that is
// guaranteed to others.
static void greedy_users_use_up_the_pool(void **state)
{
	struct turn_config c = config();
	struct fixture_client ivan = fixture_client("198.51.100.7", 5000);
	unsigned int n = 0;

	c.pools = (struct turn_pools){.permissions = 20, .channels = 10, .per_user = 60};
	open_world(&c);
	assert_int_equal(take_all(permit_nth), 2 * GREEDY + 12);
	assert_int_equal(fixture_allocate(&f, &ivan, 4), 0);
	while (permit_nth(&ivan, n) == 0)
		n++;
	assert_int_equal(n, 2 + 8);
	assert_int_equal(take_all(permit_nth), 2 * GREEDY + 12); // renewals need no room
	assert_int_equal(fixture_stats(&f).permissions, 2 * GREEDY + 2 + 20);
	// when one allocation of eve's ends, another user gets its port and the guaranteed part
	assert_int_equal(fixture_refresh(&f, &eve[GREEDY - 1], 0), 0);
	fixture_advance(&f, 1);
	assert_int_equal(serve_others(), 1088 - GREEDY);
	fixture_close(&f);
}

// If the configuration has only one user, no part of the pool is kept for others.
static void the_only_user_may_use_the_whole_pool(void **state)
{
	struct turn_config c = config();

	c.first.users++; // eve
	c.first.nb_users = 1;
	c.first.nb_secrets = 0;
	c.pools = (struct turn_pools){.permissions = 20, .channels = 10};
	open_world(&c);
	assert_int_equal(take_all(permit_nth), 2 * GREEDY + 20);
	fixture_close(&f);
}

// A permission, channel or allocation that ends gives back its part of the pool.
static void shares_come_back(void **state)
{
	struct turn_config c = config();
	unsigned int got;

	c.limits.lifetime_default_s = c.limits.lifetime_max_s = 3600;
	open_world(&c);
	got = take_all(bind_nth);
	fixture_advance(&f, 601000);
	fixture_expire(&f);
	assert_int_equal(fixture_stats(&f).channels, 0);
	fixture_advance(&f, 1);
	assert_int_equal(take_all(bind_nth), got);
	for (unsigned int i = 0; i < GREEDY; i++) {
		assert_int_equal(fixture_refresh(&f, &eve[i], 0), 0);
		assert_int_equal(fixture_allocate(&f, &eve[i], 4), 0);
	}
	fixture_advance(&f, 1);
	assert_int_equal(take_all(bind_nth), got);
	fixture_close(&f);
}

#ifdef FEATURE_SHARED
// A user with an allocation on every shared address cannot register one peer's transport address on
// all of them, so that others reach a conference server, too.
static void one_user_cannot_have_a_peer_on_all_ports(void **state)
{
	struct turn_config c = fixture_config();
	const struct endpoint peer = fixture_endpoint("10.99.0.9", 7000);
	struct fixture_client hog[PORTS];
	unsigned int bound = 0;

	c.shared.enabled = true;
	c.port_lo = 3480;
	c.port_hi = 3480 + PORTS - 1;
	c.limits.allocations = 1000;
	c.shared.peers = EACH;
	c.shared.peer_share = 50;
	fixture_open(&f, &c, 1);
	for (unsigned int i = 0; i < PORTS; i++) {
		hog[i] = fixture_eve("198.51.100.66", (uint16_t)(1000 + i));
		assert_int_equal(fixture_allocate(&f, &hog[i], 4), 0);
	}
	for (unsigned int i = 0; i < PORTS; i++) {
		const unsigned int code = fixture_bind(&f, &hog[i], 0x4000, "10.99.0.9", 7000);

		assert_true(code == 0 || code == 508);
		bound += code == 0;
	}
	assert_int_equal(bound, PORTS / 2);
	assert_int_equal(fixture_permit(&f, &hog[PORTS - 1], "10.99.0.9"), 0);
	fixture_begin(&f, STUN_INDICATION, STUN_SEND);
	stun_put_xor_addr(&f.w, STUN_XOR_PEER_ADDRESS, &peer);
	stun_put(&f.w, STUN_DATA_ATTR, "x", 1);
	assert_int_equal(fixture_send(&f, &hog[PORTS - 1])->reason, TURN_DROP_SHARED_SHARE);
	// the other half is left to others, however many allocations the greedy user has
	for (unsigned int i = 0; i < PORTS / 2; i++) {
		struct fixture_client rival = fixture_client("198.51.100.9", (uint16_t)(1 + i));

		assert_int_equal(fixture_allocate(&f, &rival, 4), 0);
		assert_int_equal(fixture_bind(&f, &rival, 0x4000, "10.99.0.9", 7000), 0);
	}
	// a released address can be taken again, and another port of that peer counts separately
	for (unsigned int i = 0; bound == PORTS / 2 && i < PORTS; i++)
		if (fixture_bind(&f, &hog[i], 0x4000, "10.99.0.9", 7000) == 0) { // a renewal
			assert_int_equal(fixture_refresh(&f, &hog[i], 0), 0);
			assert_int_equal(fixture_allocate(&f, &hog[i], 4), 0);
			assert_int_equal(fixture_bind(&f, &hog[i], 0x4000, "10.99.0.9", 7000), 0);
			bound = 0;
		}
	assert_int_equal(bound, 0);
	assert_int_equal(fixture_bind(&f, &hog[PORTS - 1], 0x4001, "10.99.0.9", 7001), 0);
	fixture_close(&f);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_greedy_user_takes_no_channels_of_others),
		cmocka_unit_test(a_greedy_user_takes_no_permissions_of_others),
		cmocka_unit_test(greedy_users_use_up_the_pool),
		cmocka_unit_test(the_only_user_may_use_the_whole_pool),
		cmocka_unit_test(shares_come_back),
#ifdef FEATURE_SHARED
		cmocka_unit_test(one_user_cannot_have_a_peer_on_all_ports),
#endif
	};

	return cmocka_run_group_tests_name("fairness", tests, NULL, NULL);
}
