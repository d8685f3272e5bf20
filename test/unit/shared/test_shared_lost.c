// SPDX-License-Identifier: BSD-3-Clause
// Relay addresses that the box has lost, of ports that allocations share.
#include "turn_fixture.h"

static struct fixture f;
static struct addr relay[2];

static void lost_shared_addresses_are_skipped(void **state)
{
	struct turn_config config = fixture_config();
	struct fixture_client c[8];

	addr_parse("10.99.0.1", &relay[0]);
	addr_parse("10.99.0.5", &relay[1]);
	config.relay = relay;
	config.nb_relay = 2;
	config.port_hi = (uint16_t)(config.port_lo + 5);
	config.shared.enabled = true;
	config.limits.allocations = 100;
	fixture_open(&f, &config, 1);
	turn_relay_map_lose(f.map, 1, true);
	for (uint16_t i = 0; i < 8; i++) {
		c[i] = fixture_client("198.51.100.7", (uint16_t)(1000 + i));
		assert_int_equal(fixture_allocate(&f, &c[i], 4), 0);
		assert_true(addr_eq(&c[i].relay.addr, &relay[0]));
	}
	turn_relay_map_lose(f.map, 0, true);
	c[0] = fixture_client("198.51.100.7", 2000);
	assert_int_equal(fixture_allocate(&f, &c[0], 4), 508);
	turn_relay_map_lose(f.map, 1, false);
	assert_int_equal(fixture_allocate(&f, &c[0], 4), 0);
	assert_true(addr_eq(&c[0].relay.addr, &relay[1]));
	fixture_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lost_shared_addresses_are_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
