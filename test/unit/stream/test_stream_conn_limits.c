// SPDX-License-Identifier: BSD-3-Clause
// Limits of connections: in total, per source and per network.
#include "addr_text.h"
#include "conn_limits.h"
#include "test.h"
#include "test_rand.h"

#define MAX 64

static void test_total(void **state)
{
	struct conn_limits c;
	struct addr a = addr_text("192.0.2.0");

	assert_int_equal(conn_limits_init(&c, MAX, 0, 0), 0);
	for (unsigned int i = 0; i < MAX; i++, a = addr_next(&a))
		assert_int_equal(conn_limits_take(&c, &a), CONN_LIMITS_OK);
	assert_int_equal(conn_limits_take(&c, &a), CONN_LIMITS_TOTAL);
	a = addr_text("192.0.2.7");
	conn_limits_give(&c, &a);
	a = addr_text("198.51.100.1");
	assert_int_equal(conn_limits_take(&c, &a), CONN_LIMITS_OK);
	assert_int_equal(conn_limits_take(&c, &a), CONN_LIMITS_TOTAL);
	conn_limits_fini(&c);
}

// A source is an IPv4 address or an IPv6 /64.
static void test_source(void **state)
{
	const struct addr a = addr_text("192.0.2.1"), b = addr_text("192.0.2.2");
	const struct addr p = addr_text("2001:db8::1"), q = addr_text("2001:db8::ffff:0:0:1");
	const struct addr other_net = addr_text("2001:db8:0:1::1");
	struct conn_limits c;

	assert_int_equal(conn_limits_init(&c, MAX, 2, 0), 0);
	for (unsigned int round = 0; round < 100; round++) {
		assert_int_equal(conn_limits_take(&c, &a), CONN_LIMITS_OK);
		assert_int_equal(conn_limits_take(&c, &a), CONN_LIMITS_OK);
		assert_int_equal(conn_limits_take(&c, &a), CONN_LIMITS_SOURCE);
		assert_int_equal(conn_limits_take(&c, &b), CONN_LIMITS_OK);
		assert_int_equal(conn_limits_take(&c, &p), CONN_LIMITS_OK);
		assert_int_equal(conn_limits_take(&c, &q), CONN_LIMITS_OK);
		assert_int_equal(conn_limits_take(&c, &p), CONN_LIMITS_SOURCE);
		assert_int_equal(conn_limits_take(&c, &other_net), CONN_LIMITS_OK);
		conn_limits_give(&c, &q);
		assert_int_equal(conn_limits_take(&c, &p), CONN_LIMITS_OK);
		conn_limits_give(&c, &p);
		conn_limits_give(&c, &p);
		conn_limits_give(&c, &other_net);
		conn_limits_give(&c, &b);
		conn_limits_give(&c, &a);
		conn_limits_give(&c, &a);
		assert_int_equal(c.total, 0);
		for (unsigned int i = 0; i < CONN_LIMITS_LEVELS; i++)
			assert_int_equal(c.level[i].table.used, 0);
	}
	conn_limits_fini(&c);
}

// A /56 or a /48 contains many /64: they are counted together, too.
static void test_network(void **state)
{
	const struct addr other_net = addr_text("2001:db8:1::1"), v4 = addr_text("192.0.2.1");
	struct addr a = addr_text("2001:db8:0:ff00::1");
	struct conn_limits c;

	assert_int_equal(conn_limits_init(&c, MAX, 2, 9), 0);
	for (unsigned int round = 0; round < 100; round++) {
		for (a.b[7] = 0; a.b[7] < 9; a.b[7]++)
			assert_int_equal(conn_limits_take(&c, &a), CONN_LIMITS_OK);
		assert_int_equal(conn_limits_take(&c, &a), CONN_LIMITS_NETWORK);
		a.b[6] = 0x12; // another /56 of the same /48
		assert_int_equal(conn_limits_take(&c, &a), CONN_LIMITS_NETWORK);
		a.b[6] = 0xff;
		assert_int_equal(conn_limits_take(&c, &other_net), CONN_LIMITS_OK);
		assert_int_equal(conn_limits_take(&c, &v4), CONN_LIMITS_OK);
		assert_int_equal(conn_limits_take(&c, &v4), CONN_LIMITS_OK);
		assert_int_equal(conn_limits_take(&c, &v4), CONN_LIMITS_SOURCE);
		a.b[7] = 4;
		conn_limits_give(&c, &a);
		a.b[7] = 200;
		assert_int_equal(conn_limits_take(&c, &a), CONN_LIMITS_OK);
		conn_limits_give(&c, &a);
		for (a.b[7] = 0; a.b[7] < 9; a.b[7]++)
			if (a.b[7] != 4)
				conn_limits_give(&c, &a);
		conn_limits_give(&c, &v4);
		conn_limits_give(&c, &v4);
		conn_limits_give(&c, &other_net);
		assert_int_equal(c.total, 0);
		for (unsigned int i = 0; i < CONN_LIMITS_LEVELS; i++)
			assert_int_equal(c.level[i].table.used, 0);
	}
	conn_limits_fini(&c);
}

// Compared with plain counters.
static void test_random(void **state)
{
	struct test_rand r = test_rand_start("conn_limits");
	struct addr source[40];
	unsigned int has[40] = {0}, total = 0;
	struct conn_limits c;

	source[0] = addr_text("10.0.0.1");
	for (unsigned int i = 1; i < 40; i++)
		source[i] = addr_next(&source[i - 1]);
	assert_int_equal(conn_limits_init(&c, MAX, 3, 0), 0);
	for (unsigned int round = 0; round < 50000; round++) {
		const unsigned int i = test_rand_below(&r, 40);

		if (test_rand_below(&r, 5) < 3) {
			const enum conn_limits_answer want = has[i] == 3 ? CONN_LIMITS_SOURCE
				: total == MAX                           ? CONN_LIMITS_TOTAL
									 : CONN_LIMITS_OK;

			assert_int_equal(conn_limits_take(&c, &source[i]), want);
			has[i] += want == CONN_LIMITS_OK;
			total += want == CONN_LIMITS_OK;
		} else if (has[i] > 0) {
			conn_limits_give(&c, &source[i]);
			has[i]--;
			total--;
		}
	}
	conn_limits_fini(&c);
}

// A client with an allocation makes room for others with its address. Without an allocation it
// counts again, even above the limit.
static void test_spared(void **state)
{
	const struct addr a = addr_text("192.0.2.7");
	struct conn_limits c;

	assert_int_equal(conn_limits_init(&c, 100, 2, 0), 0);
	for (unsigned int i = 0; i < 10; i++) {
		assert_int_equal(conn_limits_take(&c, &a), CONN_LIMITS_OK);
		conn_limits_spare(&c, &a, true);
	}
	assert_int_equal(conn_limits_take(&c, &a), CONN_LIMITS_OK);
	assert_int_equal(conn_limits_take(&c, &a), CONN_LIMITS_OK);
	assert_int_equal(conn_limits_take(&c, &a), CONN_LIMITS_SOURCE);
	for (unsigned int i = 0; i < 10; i++)
		conn_limits_spare(&c, &a, false);
	for (unsigned int i = 0; i < 10; i++)
		conn_limits_give(&c, &a);
	assert_int_equal(conn_limits_take(&c, &a), CONN_LIMITS_SOURCE);
	conn_limits_give(&c, &a);
	assert_int_equal(conn_limits_take(&c, &a), CONN_LIMITS_OK);
	conn_limits_fini(&c);
}

// Connections of a trusted address count only in total.
static void test_trusted(void **state)
{
	const struct prefix trusted[] = {{addr_text("192.0.2.0"), 96 + 24}};
	const struct addr a = addr_text("192.0.2.7"), b = addr_text("192.0.3.7");
	struct conn_limits c;

	assert_int_equal(conn_limits_init(&c, 3, 1, 0), 0);
	assert_false(conn_limits_trusts(&c, &a));
	conn_limits_trust(&c, trusted, 1);
	assert_true(conn_limits_trusts(&c, &a));
	assert_false(conn_limits_trusts(&c, &b));
	for (unsigned int i = 0; i < 3; i++)
		assert_true(conn_limits_take_total(&c));
	assert_false(conn_limits_take_total(&c));
	assert_int_equal(conn_limits_take(&c, &b), CONN_LIMITS_TOTAL);
	conn_limits_give_total(&c);
	assert_int_equal(conn_limits_take(&c, &b), CONN_LIMITS_OK);
	conn_limits_fini(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_total),
		cmocka_unit_test(test_source),
		cmocka_unit_test(test_network),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_spared),
		cmocka_unit_test(test_trusted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
