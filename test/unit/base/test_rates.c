// SPDX-License-Identifier: BSD-3-Clause
// The rate of each source: the burst and the rate to the one, and a storm from one source takes
// nothing from others.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "addr_text.h"
#include "rates.h"
#include "test_rand.h"

#define PLACES 1024
#define BEGIN 1000000 // ms

static uint64_t mem[PLACES];

static struct rates make(uint64_t seed, uint32_t rate, uint32_t burst)
{
	struct rates r = {.key = {{seed, 2, 3, 4}}};

	memset(mem, 0, sizeof(mem));
	rates_init(&r, mem, PLACES, rate, burst);
	return r;
}

// How many of each_ms tries a millisecond come through in so many of them.
static unsigned int tries(struct rates *r, const struct addr *from, uint64_t at, unsigned int ms,
	unsigned int each_ms)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < ms * each_ms; i++)
		n += rates_take(r, from, at + i / each_ms);
	return n;
}

// 10,000 a second for 15 seconds: the burst and the rate, to the one; nobody else is touched.
static void test_storm(void **state)
{
	const struct addr a = addr_text("192.0.2.1"), b = addr_text("192.0.2.2");
	struct rates r = make(1, 200, 2000);
	unsigned int n = 0;

	for (unsigned int s = 0; s < 15; s++) {
		n += tries(&r, &a, BEGIN + s * 1000, 1000, 10);
		assert_in_range(n, 2000 + 200 * (s + 1) - 1, 2000 + 200 * (s + 1));
	}
	assert_int_equal(tries(&r, &b, BEGIN + 15000, 1, 3000), 2000);
	// who has been away has all of the burst again, and no more
	assert_int_equal(tries(&r, &a, BEGIN + 3600 * 1000, 1, 3000), 2000);
}

static void test_source(void **state)
{
	const struct addr p = addr_text("2001:db8::1"), q = addr_text("2001:db8::ffff:0:0:1");
	const struct addr other = addr_text("2001:db8:0:1::1");
	struct rates r = make(1, 1, 3);

	assert_int_equal(tries(&r, &p, BEGIN, 1, 2), 2);
	assert_int_equal(tries(&r, &q, BEGIN, 1, 2), 1); // of the same /64
	assert_int_equal(tries(&r, &other, BEGIN, 1, 5), 3);
}

// Who has a /48 has 65,536 of /64: a hundred times what one may, and the places of a hundred.
static void test_network(void **state)
{
	const struct addr other = addr_text("2001:db8:2::1"), v4 = addr_text("192.0.2.1");
	struct addr a = addr_text("2001:db8:1::1");
	struct rates r = make(1, 10, 10);
	unsigned int n = 0, again = 0;

	for (unsigned int i = 0; i < 2 * 65536; i++) {
		a.b[6] = (uint8_t)(i >> 8);
		a.b[7] = (uint8_t)i;
		*(i < 65536 ? &n : &again) += tries(&r, &a, BEGIN + (i < 65536 ? 0 : 100), 1, 5);
	}
	assert_int_equal(n, 1000);
	assert_int_equal(again, 100); // a tenth of a second of a hundred
	assert_int_equal(tries(&r, &other, BEGIN + 100, 1, 20), 10);
	assert_int_equal(tries(&r, &v4, BEGIN + 100, 1, 20), 10);
}

static void test_edges(void **state)
{
	const struct addr a = addr_text("192.0.2.1");
	struct rates r = make(1, 0, 1);

	assert_int_equal(tries(&r, &a, BEGIN, 1, 50000), 50000); // no limit
	r = make(1, 1, 1);
	assert_int_equal(tries(&r, &a, 0, 5000, 10), 5); // from the beginning of time
	r = make(1, 1000000, 1000000);
	assert_int_equal(tries(&r, &a, BEGIN, 1, 1100000), 1000000);
	r = make(1, UINT32_MAX, UINT32_MAX); // faster than can be counted
	assert_int_equal(tries(&r, &a, BEGIN, 1, 50000), 50000);
	r = make(1, 1, UINT32_MAX);
	assert_int_equal(tries(&r, &a, UINT32_MAX, 1, 50000), 50000);
	// threads whose clocks differ
	r = make(1, 1000, 1);
	assert_true(rates_take(&r, &a, BEGIN + 5));
	assert_false(rates_take(&r, &a, BEGIN));
	assert_true(rates_take(&r, &a, BEGIN + 6));
}

// Never more than the burst and the rate, at any pace; nor less than a source has coming.
static void test_random(void **state)
{
	const struct addr a = addr_text("192.0.2.1");
	struct test_rand rnd = test_rand_start("rates");

	for (unsigned int round = 0; round < 200; round++) {
		const uint32_t rate = 1 + test_rand_below(&rnd, 5000);
		const uint32_t burst = 1 + test_rand_below(&rnd, 5000);
		struct rates r = make(round, rate, burst);
		uint64_t ms = BEGIN, n = 0, asked = 0;

		for (unsigned int i = 0; i < 2000; i++) {
			const unsigned int k = test_rand_below(&rnd, 20);

			for (unsigned int j = 0; j < k; j++, asked++) {
				const bool yes = rates_take(&r, &a, ms);

				n += yes;
				// a gap is rounded down: a part in 200,000 more at most
				assert_true((n - 1) * 1000 * 199999 / 200000 <=
					(burst + 1) * UINT64_C(1000) + (ms - BEGIN) * rate);
				assert_true(yes || n >= burst);
			}
			ms += test_rand_below(&rnd, 30);
		}
		assert_true(n <= asked);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_storm),
		cmocka_unit_test(test_source),
		cmocka_unit_test(test_network),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
