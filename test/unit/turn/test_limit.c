// SPDX-License-Identifier: BSD-3-Clause
// Rates of a source: exact over any while, changed by a reload, and out of reach of other sources.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "test_rand.h"
#include "limits/limiter.h"

#define BUCKETS 4096
#define DAY_MS (24ull * 3600 * 1000)

static struct limiter *make(uint64_t seed, uint32_t buckets)
{
	const struct hash_key key = {{seed, 2, 3, 4}};
	void *mem = aligned_alloc(64, (limiter_size(buckets) + 63) / 64 * 64);

	memset(mem, 0xa5, limiter_size(buckets)); // memory need not be zeroed
	return limiter_create(mem, buckets, &key);
}

static struct addr source(uint32_t i)
{
	struct addr a;

	addr_parse("192.0.2.0", &a);
	memcpy(&a.b[12], &i, 4);
	return a;
}

// Tokens had, as an exact fraction over 1000; refilled at every question.
struct model {
	unsigned __int128 milli;
	uint64_t last_ms;
};

static bool model_allow(struct model *m, uint64_t rate, uint64_t burst, uint64_t now_ms)
{
	m->milli += (unsigned __int128)(now_ms - m->last_ms) * rate;
	if (m->milli > (unsigned __int128)burst * 1000)
		m->milli = (unsigned __int128)burst * 1000;
	m->last_ms = now_ms;
	if (m->milli < 1000)
		return false;
	m->milli -= 1000;
	return true;
}

static void test_model(void **state)
{
	struct test_rand r = test_rand_start("limiter");

	for (int round = 0; round < 100; round++) {
		const uint32_t share = 1 + test_rand_below(&r, 4);
		const struct turn_rate rate = {1 + test_rand_below(&r, round < 50 ? 40 : 100000),
			test_rand_below(&r, 200)};
		const uint32_t part = rate.rate / share > 0 ? rate.rate / share : 1;
		const uint32_t burst = rate.burst / share > 0 ? rate.burst / share : 1;
		struct limiter *l = make(test_rand(&r), BUCKETS);
		const struct addr a = source(test_rand_below(&r, 1000000));
		uint64_t now_ms = test_rand_below(&r, 1000000);
		struct model m = {(unsigned __int128)burst * 1000, now_ms};

		for (int i = 0; i < 3000; i++) {
			const uint32_t kind = test_rand_below(&r, 100);

			if (kind == 0)
				now_ms += test_rand_below(&r, 200 * DAY_MS / 1000) * 1000ull;
			else if (kind < 40)
				now_ms += test_rand_below(&r, 200);
			assert_int_equal(
				limiter_allow(l, &rate, share, limiter_source(l, &a), now_ms),
				model_allow(&m, part, burst, now_ms));
		}
		free(l);
	}
}

// Asked all the time, a source gets the burst and then the rate, to the token, over any while.
static void test_rate(void **state)
{
	const struct turn_rate rate = {7, 50};
	struct limiter *l = make(1, BUCKETS);
	const struct addr a = source(1);
	uint64_t got = 0;

	for (uint64_t ms = 0; ms <= 1000000; ms++) {
		while (limiter_allow(l, &rate, 1, limiter_source(l, &a), ms))
			got++;
		assert_int_equal(got, 50 + ms * 7 / 1000);
	}
	// days of idling fill it to the burst and no further
	for (uint64_t days = 1; days < 100000; days *= 10) {
		for (got = 0; limiter_allow(
			     l, &rate, 1, limiter_source(l, &a), 1000000 + days * days * DAY_MS);)
			got++;
		assert_int_equal(got, 50);
	}
	free(l);
}

static void test_extremes(void **state)
{
	const struct turn_rate off = {0, 0}, most = {UINT32_MAX, UINT32_MAX}, least = {1, 0};
	const struct turn_rate fast = {1u << 31, 1};
	struct limiter *l = make(1, 1);
	const struct addr a = source(1);

	for (int i = 0; i < 1000; i++)
		assert_true(limiter_allow(l, &off, 3, limiter_source(l, &a), 0));
	// a share of less than one token is one
	assert_true(limiter_allow(l, &least, 64, limiter_source(l, &a), 0));
	assert_false(limiter_allow(l, &least, 64, limiter_source(l, &a), 999));
	assert_true(limiter_allow(l, &least, 64, limiter_source(l, &a), 1000));
	// a step back in time gives nothing
	assert_false(limiter_allow(l, &least, 64, limiter_source(l, &a), 0));
	assert_false(limiter_allow(l, &least, 64, limiter_source(l, &a), 1999));
	assert_true(limiter_allow(l, &most, 1, limiter_source(l, &a), 2000));
	assert_true(limiter_allow(l, &most, 1, limiter_source(l, &a), UINT64_MAX));
	free(l);
	// 2^33 ms at 2^31 a second is 2^64 thousandths
	l = make(1, 1);
	assert_true(limiter_allow(l, &fast, 1, limiter_source(l, &a), 1));
	assert_false(limiter_allow(l, &fast, 1, limiter_source(l, &a), 1));
	assert_true(limiter_allow(l, &fast, 1, limiter_source(l, &a), 1 + (1ull << 33)));
	free(l);
}

// A reload that lowers or raises a limit acts on what a source owes already.
static void test_reload(void **state)
{
	const struct turn_rate low = {1, 10}, high = {1, 100};
	struct limiter *l = make(1, BUCKETS);
	const struct addr a = source(1);
	int got;

	for (got = 0; limiter_allow(l, &high, 1, limiter_source(l, &a), 0);)
		got++;
	assert_int_equal(got, 100);
	assert_false(limiter_allow(l, &low, 1, limiter_source(l, &a), 90000));
	assert_true(limiter_allow(l, &low, 1, limiter_source(l, &a), 91000));
	for (got = 0; limiter_allow(l, &high, 1, limiter_source(l, &a), 91000);)
		got++;
	assert_int_equal(got, 90);
	free(l);
}

// One source asking without end takes nothing from the others but those in its bucket.
static void test_no_starvation(void **state)
{
	const struct turn_rate rate = {20, 100};
	struct test_rand r = test_rand_start("starvation");
	struct limiter *l = make(test_rand(&r), BUCKETS);
	const struct addr flood = source(0);
	unsigned int denied = 0;

	for (uint64_t ms = 0; ms < 1000; ms++) {
		for (int i = 0; i < 50; i++)
			limiter_allow(l, &rate, 1, limiter_source(l, &flood), ms);
	}
	for (uint32_t i = 1; i <= 1000; i++) {
		const struct addr a = source(i);

		denied += !limiter_allow(l, &rate, 1, limiter_source(l, &a), 1000);
	}
	// 1000 / 4096 sources are expected in its bucket; 8 or more with probability 10^-10
	assert_in_range(denied, 0, 7);
	free(l);
}

// Sources spread over all buckets, differently under another key: nobody can aim at a victim.
static void test_keyed(void **state)
{
	const struct turn_rate rate = {1, 1};
	struct test_rand r = test_rand_start("keyed");
	unsigned int both = 0, first = 0;
	struct limiter *l[2] = {make(test_rand(&r), BUCKETS), make(test_rand(&r), BUCKETS)};

	for (uint32_t i = 0; i < BUCKETS; i++) {
		const struct addr a = source(i);
		const bool new0 = limiter_allow(l[0], &rate, 1, limiter_source(l[0], &a), 0);
		const bool new1 = limiter_allow(l[1], &rate, 1, limiter_source(l[1], &a), 0);

		first += new0;
		both += new0 && new1;
	}
	// n balls in n bins fill 1 - 1/e of them; two keys agree as independent throws would
	assert_in_range(first, BUCKETS * 60 / 100, BUCKETS * 66 / 100);
	assert_in_range(both, BUCKETS * 38 / 100, BUCKETS * 52 / 100);
	free(l[0]);
	free(l[1]);
}

static void test_prefixes(void **state)
{
	static const char *const same[] = {"2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff"};
	static const char *const differ[] = {"2001:db8:0:1::1", "192.0.2.1", "192.0.2.2"};
	const struct turn_rate rate = {1, 1};
	struct limiter *l = make(5, 1u << 16);
	struct addr a;

	addr_parse(same[0], &a);
	assert_true(limiter_allow(l, &rate, 1, limiter_source(l, &a), 0));
	addr_parse(same[1], &a);
	assert_false(limiter_allow(l, &rate, 1, limiter_source(l, &a), 0));
	for (int i = 0; i < 3; i++) {
		addr_parse(differ[i], &a);
		assert_true(limiter_allow(l, &rate, 1, limiter_source(l, &a), 0));
	}
	free(l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_reload),
		cmocka_unit_test(test_no_starvation),
		cmocka_unit_test(test_keyed),
		cmocka_unit_test(test_prefixes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
