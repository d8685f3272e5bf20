// SPDX-License-Identifier: BSD-3-Clause
// The rules of a token bucket: `rate` tokens a second and at most `burst` of them, fractions are
// kept, debt is paid first, and rate 0 means no limit.
#include <stdbool.h>

#include "rates/bucket.h"
#include "test.h"
#include "test_rand.h"

#define SECOND (1000 * BUCKET_MS)
#define NB(a) (sizeof(a) / sizeof((a)[0]))

static const uint32_t rates[] = {1, 7, 300, 1000, 100000, 9999999, 100000000};

static uint32_t burst_of(uint32_t rate)
{
	return rate / 50 > 64 ? rate / 50 : 64;
}

// Takes all tokens for a while, at irregular times. Returns how many.
static uint64_t taken(struct bucket *b, uint32_t rate, uint64_t *now, uint64_t ms, uint64_t step)
{
	const uint64_t end = *now + ms * BUCKET_MS;
	uint64_t n = 0;

	for (; *now < end; *now += step) {
		const struct limit l = {rate, burst_of(rate)};
		const uint32_t tokens = bucket_see(b, &l, *now);

		n += tokens;
		bucket_spend(b, &l, tokens, *now);
	}
	return n;
}

static void test_rate(void **state)
{
	for (size_t i = 0; i < NB(rates); i++) {
		const uint32_t rate = rates[i], burst = burst_of(rate);
		const struct limit l = {rate, burst};
		uint64_t now = 12345, n;
		struct bucket b = {0};

		assert_int_equal(bucket_see(&b, &l, now), burst);
		bucket_spend(&b, &l, burst, now);
		n = taken(&b, rate, &now, 10000, 33333);
		assert_in_range(n, 10 * (uint64_t)rate - rate / 1000 - 1,
			10 * (uint64_t)rate + rate / 10000); // the last check is later
		// a debt is paid first
		bucket_spend(&b, &l, bucket_see(&b, &l, now) + rate, now);
		assert_int_equal(bucket_see(&b, &l, now + 999 * BUCKET_MS), 0);
		assert_true(bucket_see(&b, &l, now + 2200 * BUCKET_MS) > 0);
		// and a long pause brings no more than a burst
		now += 1000 * 3600 * UINT64_C(1000) * BUCKET_MS;
		assert_int_equal(bucket_see(&b, &l, now), burst);
	}
}

// One token at a time, about every millisecond: the burst at once, then the rate.
static void test_take(void **state)
{
	struct test_rand r = test_rand_start("take");

	for (size_t i = 0; i < NB(rates) && rates[i] <= 1000; i++) {
		const struct limit l = {rates[i], 50};
		uint64_t now = 1000 * SECOND, got = 0;
		struct bucket b = {0};
		const uint64_t end = now + 60 * SECOND;

		for (unsigned int k = 0; k < 50; k++)
			assert_true(bucket_take(&b, &l, now));
		assert_false(bucket_take(&b, &l, now));
		while (now < end) {
			now += (1 + test_rand_below(&r, 3)) * BUCKET_MS;
			while (bucket_take(&b, &l, now))
				got++;
		}
		// neither too many nor too few, except the tokens of the last check
		assert_in_range(
			got, 60 * (uint64_t)l.rate, 60 * (uint64_t)l.rate + 3 * l.rate / 1000);
	}
}

// Every nanosecond counts, however often the bucket is checked.
static void test_fractions(void **state)
{
	const struct limit l = {100, 5};
	struct bucket b = {0};

	bucket_spend(&b, &l, 5, 0);
	for (uint64_t now = 1; now < 10 * BUCKET_MS - BUCKET_MS / 100; now++)
		if (now % 997 == 0)
			assert_int_equal(bucket_see(&b, &l, now), 0);
	assert_int_equal(bucket_see(&b, &l, 10 * BUCKET_MS), 1);
	assert_int_equal(bucket_see(&b, &l, 19 * BUCKET_MS), 1);
	assert_int_equal(bucket_see(&b, &l, 20 * BUCKET_MS), 2);
}

// A bucket of zeroed memory is full, also at time 0, and fills up to `burst`.
static void test_zeroed(void **state)
{
	const struct limit l = {10, 3}, less = {10, 2};
	struct bucket b = {0};

	for (unsigned int i = 0; i < 3; i++)
		assert_true(bucket_take(&b, &l, 0));
	assert_false(bucket_take(&b, &l, 0));
	assert_false(bucket_take(&b, &l, 99 * BUCKET_MS));
	assert_true(bucket_take(&b, &l, 100 * BUCKET_MS));
	assert_false(bucket_take(&b, &l, 100 * BUCKET_MS));
	assert_int_equal(bucket_see(&b, &l, SECOND), 3);
	assert_int_equal(bucket_see(&b, &less, SECOND + 100 * BUCKET_MS), 2); // a lower burst
}

// A bucket may go into debt; it has a token again when the debt is paid.
static void test_debt(void **state)
{
	const struct limit l = {10, 8};
	struct bucket b = {0};

	bucket_spend(&b, &l, 8 + 40, 5 * SECOND);
	assert_false(bucket_take(&b, &l, 5 * SECOND));
	assert_false(bucket_take(&b, &l, 9 * SECOND));
	assert_true(bucket_take(&b, &l, 9 * SECOND + 100 * BUCKET_MS));
	assert_false(bucket_take(&b, &l, 9 * SECOND + 100 * BUCKET_MS));
	bucket_spend(&b, &l, 4, 9 * SECOND + 100 * BUCKET_MS);
	bucket_give(&b, &l, 3); // one of the four is debt
	assert_false(bucket_take(&b, &l, 9 * SECOND + 200 * BUCKET_MS));
	assert_true(bucket_take(&b, &l, 9 * SECOND + 300 * BUCKET_MS));
	bucket_give(&b, &l, 1 + 8); // full, and not above
	bucket_give(&b, &l, 1000);
	assert_int_equal(bucket_see(&b, &l, 9 * SECOND), 8);
	bucket_spend(&b, &l, 8, 9 * SECOND + 100 * BUCKET_MS);
	bucket_spend(&b, &l, 1000000, 9 * SECOND + 100 * BUCKET_MS);
	assert_int_equal(bucket_see(&b, &l, 100009 * SECOND), 0);
	assert_int_equal(bucket_see(&b, &l, 100009 * SECOND + 200 * BUCKET_MS), 1);
}

// A bucket with a debt that is too large to count after a reload raised the rate.
static void test_raised(void **state)
{
	const struct limit low = {1, UINT32_MAX}, high = {UINT32_MAX, UINT32_MAX};
	struct bucket b = {0};

	bucket_spend(&b, &low, UINT32_MAX, 0);
	assert_int_equal(bucket_see(&b, &high, 1), 0);
	assert_false(bucket_take(&b, &high, 1));
	assert_true(bucket_take(&b, &high, UINT32_MAX * SECOND));
}

static void test_rate_0(void **state)
{
	const struct limit none = {0, 5};
	struct bucket b = {0};

	bucket_spend(&b, &none, 1000, 0);
	for (unsigned int i = 0; i < 1000; i++)
		assert_true(bucket_take(&b, &none, 0));
	assert_int_equal(bucket_see(&b, &none, 0), UINT32_MAX);
	assert_int_equal(b.due_ns, 0);
}

// Shares of a limit are at least 1 of each value.
static void test_parts(void **state)
{
	const struct limit l = {7, 100}, none = {0, 100};
	const struct limit third = limit_part(&l, 3), tenth = limit_part(&l, 10);
	const struct limit twice = limit_times(&l, 2), of_none = limit_part(&none, 3);

	assert_int_equal(third.rate, 2);
	assert_int_equal(third.burst, 33);
	assert_int_equal(tenth.rate, 1);
	assert_int_equal(tenth.burst, 10);
	assert_int_equal(twice.rate, 14);
	assert_int_equal(twice.burst, 200);
	assert_int_equal(of_none.rate, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_take),
		cmocka_unit_test(test_fractions),
		cmocka_unit_test(test_zeroed),
		cmocka_unit_test(test_debt),
		cmocka_unit_test(test_raised),
		cmocka_unit_test(test_rate_0),
		cmocka_unit_test(test_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
