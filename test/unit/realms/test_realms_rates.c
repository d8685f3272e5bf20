// SPDX-License-Identifier: BSD-3-Clause
// Rates with several realms: each realm has its own bucket for `realm`, and users of equal names
// have their own.
#include "realms_config.h"

#include <stdlib.h>

#include "shard.h"
#include "shard_rows.h"
#include "turn_meter.h"
#include "turn_usage.h"

#define CHANNEL 0x4000

static struct turn_config config;
static struct fixture f;
static struct turn_accounts *accounts;
static void *mem;

static int setup(void **state)
{
	*state = &f;
	config = realms_config();
	config.limits.rates.burst_ms = 100;
	return 0;
}

static void begin(void)
{
	static const struct hash_key key = {{1, 2, 3, 4}};
	size_t size;

	fixture_open(&f, &config, 1);
	size = (turn_meters_size(f.shard->nb_slots) + 63) / 64 * 64;
	accounts = turn_accounts_create(f.shard->nb_slots, &key);
	mem = aligned_alloc(64, size);
	assert_non_null(accounts);
	assert_non_null(mem);
	memset(mem, 0, size);
	turn_shard_set_meters(f.shard, turn_meters_create(mem, f.shard->nb_slots, accounts));
}

static int teardown(void **state)
{
	fixture_teardown(state);
	free(mem);
	turn_accounts_free(accounts);
	mem = NULL;
	accounts = NULL;
	return 0;
}

static struct fixture_client join(const char *realm, const char *addr)
{
	struct fixture_client c = realms_ivan(realm, addr);

	assert_int_equal(fixture_allocate(&f, &c, 4), 0);
	assert_int_equal(fixture_bind(&f, &c, CHANNEL, "10.99.0.9", 7000), 0);
	return c;
}

// Returns how many of nb datagrams pass.
static unsigned int send(const struct fixture_client *c, unsigned int nb)
{
	static const uint8_t data[200];
	unsigned int passed = 0;

	for (unsigned int i = 0; i < nb; i++)
		passed += fixture_drop(fixture_channel_data(&f, c, CHANNEL, data, sizeof(data))) ==
			TURN_OK;
	return passed;
}

static uint64_t lost(uint8_t realm, enum turn_loss loss)
{
	struct turn_info rows[16];
	const unsigned int n = shard_rows(f.shard, rows, 16);
	uint64_t sum = 0;

	for (unsigned int i = 0; i < n; i++)
		if (rows[i].realm == realm)
			sum += rows[i].usage.lost[loss];
	return sum;
}

// Three seconds: the users of one realm send ten times its rate, those of others exactly theirs.
static void each_realm_has_its_rate(void **state)
{
	struct fixture_client ivan, one, second, b;
	unsigned int passed = 0;

	(void)state;
	config.limits.rates.flow[TURN_RATE_REALM][TURN_FROM_CLIENT].datagrams = 1000;
	begin();
	ivan = join(FIXTURE_REALM, "198.51.100.7");
	one = join(REALM_A, "198.51.100.8");
	second = join(REALM_A, "198.51.100.9");
	b = join(REALM_B, "198.51.100.10");
	for (unsigned int ms = 0; ms < 3000; ms++) {
		fixture_advance(&f, 1);
		passed += send(&one, 5) + send(&second, 5);
		assert_int_equal(send(&ivan, 1), 1);
		assert_int_equal(send(&b, 1), 1);
	}
	assert_in_range(passed, 3000, 3000 + 150);
	assert_true(lost(1, TURN_LOSS_REALM) > 0);
	assert_int_equal(lost(0, TURN_LOSS_REALM) + lost(2, TURN_LOSS_REALM), 0);
	assert_int_equal(lost(1, TURN_LOSS_USER), 0);
}

// Credit used by a realm's first allocation is not available to its second one, in whatever slot: a
// meter is set up again for each allocation.
static void the_rate_stays_with_the_realm(void **state)
{
	struct fixture_client c;

	(void)state;
	config.limits.rates.flow[TURN_RATE_REALM][TURN_FROM_CLIENT].datagrams = 1000;
	begin();
	c = join(REALM_A, "198.51.100.8");
	fixture_advance(&f, 1000);
	assert_in_range(send(&c, 1000), 100, 150);
	assert_int_equal(fixture_refresh(&f, &c, 0), 0);
	c = join(REALM_A, "198.51.100.8");
	assert_int_equal(send(&c, 1000), 0);
	c = join(REALM_B, "198.51.100.9");
	assert_in_range(send(&c, 1000), 100, 150);
}

static void users_of_one_name_have_their_own(void **state)
{
	struct fixture_client ivan, a;
	unsigned int passed = 0;

	(void)state;
	config.limits.rates.flow[TURN_RATE_USER][TURN_FROM_CLIENT].datagrams = 1000;
	begin();
	ivan = join(FIXTURE_REALM, "198.51.100.7");
	a = join(REALM_A, "198.51.100.8");
	for (unsigned int ms = 0; ms < 1000; ms++) {
		fixture_advance(&f, 1);
		passed += send(&a, 10);
		assert_int_equal(send(&ivan, 1), 1);
	}
	assert_in_range(passed, 1000, 1000 + 150);
	assert_int_equal(lost(0, TURN_LOSS_USER), 0);
	assert_true(lost(1, TURN_LOSS_USER) > 0);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(each_realm_has_its_rate),
		TEST(the_rate_stays_with_the_realm),
		TEST(users_of_one_name_have_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
