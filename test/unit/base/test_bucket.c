// SPDX-License-Identifier: BSD-3-Clause
// A token bucket's rule: rate tokens a second and no more than burst of them, a fraction of one
// counts on, what is owed is paid for first, and with rate 0 there is nothing.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bucket.h"
#include "test_rand.h"

#define SECOND (1000 * BUCKET_MS)
#define NB(a) (sizeof(a) / sizeof((a)[0]))

static const uint32_t rates[] = {1, 7, 300, 1000, 100000, 9999999, 100000000};

static uint32_t burst_of(uint32_t rate)
{
	return rate / 50 > 64 ? rate / 50 : 64;
}

// Takes all there is for a while, looking at odd times.
static uint64_t taken(struct bucket *b, uint32_t rate, uint64_t *now, uint64_t ms, uint64_t step)
{
	const uint64_t end = *now + ms * BUCKET_MS;
	uint64_t n = 0;

	for (; *now < end; *now += step) {
		const uint32_t tokens = bucket_see(b, rate, burst_of(rate), *now);

		n += tokens;
		bucket_spend(b, tokens);
	}
	return n;
}

static void test_rate(void **state)
{
	for (size_t i = 0; i < NB(rates); i++) {
		const uint32_t rate = rates[i], burst = burst_of(rate);
		uint64_t now = 12345, n;
		struct bucket b = {.tokens = burst, .filled_ns = now};

		assert_int_equal(bucket_see(&b, rate, burst, now), burst);
		b.tokens = 0;
		n = taken(&b, rate, &now, 10000, 33333);
		assert_in_range(n, 10 * (uint64_t)rate - rate / 1000 - 1,
			10 * (uint64_t)rate + rate / 10000); // the last look is later
		// what has been taken too much is paid for first
		bucket_see(&b, rate, burst, now);
		b.tokens = -(int64_t)rate;
		assert_int_equal(bucket_see(&b, rate, burst, now + 999 * BUCKET_MS), 0);
		assert_true(bucket_see(&b, rate, burst, now + 2200 * BUCKET_MS) > 0);
		// and a long pause brings no more than a burst
		now += 1000 * 3600 * UINT64_C(1000) * BUCKET_MS;
		assert_int_equal(bucket_see(&b, rate, burst, now), burst);
	}
}

// One at a time, asked for at every millisecond or so: the first burst at once, then the rate.
static void test_take(void **state)
{
	struct test_rand r = test_rand_start("take");

	for (size_t i = 0; i < NB(rates) && rates[i] <= 1000; i++) {
		const uint32_t rate = rates[i];
		uint64_t now = 1000 * SECOND, got = 0;
		struct bucket b = {.tokens = 50, .filled_ns = now};
		const uint64_t end = now + 60 * SECOND;

		for (unsigned int k = 0; k < 50; k++)
			assert_true(bucket_take(&b, rate, 50, now));
		assert_false(bucket_take(&b, rate, 50, now));
		while (now < end) {
			now += (1 + test_rand_below(&r, 3)) * BUCKET_MS;
			while (bucket_take(&b, rate, 50, now))
				got++;
		}
		// not one too many; a refill loses less than a nanosecond to rounding
		assert_in_range(
			got, 60 * (uint64_t)rate - 1, 60 * (uint64_t)rate + 1 + 3 * rate / 1000);
	}
}

// Every nanosecond counts, however often one looks.
static void test_fractions(void **state)
{
	struct bucket b = {0};

	for (uint64_t now = 1; now < 10 * BUCKET_MS; now++)
		if (now % 997 == 0)
			assert_int_equal(bucket_see(&b, 100, 5, now), 0);
	assert_int_equal(bucket_see(&b, 100, 5, 10 * BUCKET_MS), 1);
	assert_int_equal(bucket_see(&b, 100, 5, 19 * BUCKET_MS), 1);
	assert_int_equal(bucket_see(&b, 100, 5, 20 * BUCKET_MS), 2);
}

// A bucket of zeroed memory was empty at time 0, fills to burst and not beyond.
static void test_zeroed(void **state)
{
	struct bucket b = {0};

	assert_false(bucket_take(&b, 10, 3, 0));
	assert_false(bucket_take(&b, 10, 3, 99 * BUCKET_MS));
	assert_true(bucket_take(&b, 10, 3, 100 * BUCKET_MS));
	assert_false(bucket_take(&b, 10, 3, 100 * BUCKET_MS));
	assert_int_equal(bucket_see(&b, 10, 3, SECOND), 3);
	assert_int_equal(bucket_see(&b, 10, 2, SECOND + 100 * BUCKET_MS), 2); // a burst made less
}

// More than there is may be taken; there is one again when all of it has been paid for.
static void test_debt(void **state)
{
	struct bucket b = {.tokens = 1, .filled_ns = 5 * SECOND};

	bucket_spend(&b, 41);
	assert_false(bucket_take(&b, 10, 8, 5 * SECOND));
	assert_false(bucket_take(&b, 10, 8, 9 * SECOND));
	assert_true(bucket_take(&b, 10, 8, 9 * SECOND + 100 * BUCKET_MS));
	assert_false(bucket_take(&b, 10, 8, 9 * SECOND + 100 * BUCKET_MS));
	// a debt that no bucket of ours runs up is forgiven after 100 seconds
	bucket_spend(&b, 1000000);
	assert_int_equal(bucket_see(&b, 10, 8, 109 * SECOND), 0);
	b.filled_ns = 9 * SECOND;
	assert_int_equal(bucket_see(&b, 10, 8, 109 * SECOND), 8);
}

static void test_rate_0(void **state)
{
	struct bucket b = {.tokens = 5};

	assert_int_equal(bucket_see(&b, 0, 5, 0), 0);
	assert_false(bucket_take(&b, 0, 5, SECOND));
	assert_false(bucket_take(&b, 0, 5, 1000 * SECOND));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_take),
		cmocka_unit_test(test_fractions),
		cmocka_unit_test(test_zeroed),
		cmocka_unit_test(test_debt),
		cmocka_unit_test(test_rate_0),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
