// SPDX-License-Identifier: BSD-3-Clause
// Relay addresses that the box has lost: they get no new allocations, and everything else
// continues.
#include "turn_fixture.h"

static struct fixture f;
static struct addr relay[4];

// Relay addresses 10.99.0.1 and 10.99.0.5, 6 ports each.
static void open(void)
{
	struct turn_config c = fixture_config();

	addr_parse("10.99.0.1", &relay[0]);
	addr_parse("10.99.0.5", &relay[1]);
	c.relay = relay;
	c.nb_relay = 2;
	c.port_hi = (uint16_t)(c.port_lo + 5);
	fixture_open(&f, &c, 1);
}

static void lose(unsigned int i, bool lost)
{
	turn_relay_map_lose(f.map, i, lost);
}

static struct fixture_client client(uint16_t port)
{
	return fixture_client("198.51.100.7", port);
}

// Takes all ports of the other address, then gets no more.
static void new_allocations_are_on_the_other(void **state)
{
	open();
	lose(0, true);
	for (uint16_t i = 0; i < 6; i++) {
		struct fixture_client c = client((uint16_t)(1000 + i));

		assert_int_equal(fixture_allocate(&f, &c, 4), 0);
		assert_true(addr_eq(&c.relay.addr, &relay[1]));
	}
	for (uint16_t i = 0; i < 3; i++) {
		struct fixture_client c = client((uint16_t)(2000 + i));

		assert_int_equal(fixture_allocate(&f, &c, 4), 508);
	}
	fixture_close(&f);
}

static void without_a_relay_address_allocate_is_508(void **state)
{
	struct fixture_client old = client(1), c = client(2);
	struct turn_stats stats;

	open();
	assert_int_equal(fixture_allocate(&f, &old, 4), 0);
	lose(0, true);
	lose(1, true);
	assert_int_equal(fixture_allocate(&f, &c, 4), 508);
	turn_shard_stats(f.shard, &stats);
	assert_int_equal(stats.refused[TURN_REFUSED_RELAY_LOST], 1);
	// existing allocations continue
	assert_int_equal(fixture_refresh(&f, &old, 600), 0);
	assert_int_equal(fixture_bind(&f, &old, 0x4000, "10.99.0.9", 7000), 0);
	// and vain attempts have used up no port
	lose(0, false);
	lose(1, false);
	for (uint16_t i = 0; i < 11; i++) {
		struct fixture_client more = client((uint16_t)(1000 + i));

		assert_int_equal(fixture_allocate(&f, &more, 4), 0);
	}
	turn_shard_stats(f.shard, &stats);
	assert_int_equal(stats.refused[TURN_REFUSED_RELAY_LOST], 1);
	assert_int_equal(stats.port_reused_early, 0);
	fixture_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_allocations_are_on_the_other),
		cmocka_unit_test(without_a_relay_address_allocate_is_508),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
