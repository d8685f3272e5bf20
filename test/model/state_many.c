// SPDX-License-Identifier: BSD-3-Clause
// Measures the time to restore many allocations, each with two permissions and a channel, and their
// size in the state area. The default of a million takes half a minute, so the test suite takes
// fewer: STATE_ALLOCATIONS=n. STATE_WORKERS=n is the number of workers after the restart.
#include <stdio.h>
#include <stdlib.h>

#include "restart_world.h"

#define ADDRESSES 62
#define ALLOCATIONS 1000000

static struct restart r;
static struct addr relay[ADDRESSES];

static unsigned int read_number(const char *name, unsigned int fallback)
{
	const char *env = getenv(name);

	return env != NULL ? (unsigned int)strtoul(env, NULL, 0) : fallback;
}

static struct turn_config config(void)
{
	struct turn_config c = fixture_config();

	for (unsigned int i = 0; i < ADDRESSES; i++)
		relay[i] = addr_from_v4((const uint8_t[4]){10, 99, 0, (uint8_t)(1 + i)});
	c.relay = relay;
	c.nb_relay = ADDRESSES;
	c.port_lo = 49152;
	c.port_hi = 65535;
	c.nonce_lifetime_s = 86400;
	return c;
}

static void make_allocation(unsigned int i)
{
	const uint8_t ip[4] = {20, (uint8_t)(i >> 16), (uint8_t)(i >> 8), (uint8_t)i};
	struct fixture_client c = fixture_client("20.0.0.0", (uint16_t)(1024 + i % 60000));
	struct fixture *f = &r.worker[0];

	c.endpoint.addr = addr_from_v4(ip);
	assert_int_equal(fixture_allocate(f, &c, 4), 0);
	assert_int_equal(fixture_permit(f, &c, "10.98.0.1"), 0);
	assert_int_equal(fixture_bind(f, &c, CHANNEL_MIN, "10.98.0.2", 4000), 0);
}

static void test_many(void **state)
{
	const unsigned int n = read_number("STATE_ALLOCATIONS", ALLOCATIONS);
	struct turn_config c = config();
	double start;

	restart_open(&r, &c, 1);
	printf("area: %.1f bytes for each of %u relay ports\n",
		(double)r.size / turn_relay_map_slots(r.worker[0].map, 0),
		turn_relay_map_slots(r.worker[0].map, 0));
	for (unsigned int i = 0; i < n; i++)
		make_allocation(i);
	restart_die(&r);
	c.workers = read_number("STATE_WORKERS", 1);
	start = fixture_seconds();
	restart_up(&r, &c, 1000);
	printf("%u allocations restored by %u workers: %.3f s, set-up included\n", n, c.workers,
		fixture_seconds() - start);
	printf("of these %.3f s for restoring them; %llu redirects\n", r.took_s,
		(unsigned long long)r.adopted.redirects);
	assert_int_equal(r.adopted.allocations, n);
	assert_int_equal(r.adopted.permissions, 2 * (uint64_t)n);
	assert_int_equal(r.adopted.channels, n);
	restart_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_many)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
