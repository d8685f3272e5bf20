// SPDX-License-Identifier: BSD-3-Clause
// The histogram of latencies: its buckets, quantiles, sums and differences, also while another
// thread counts.
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "measure/hist.h"
#include "test.h"
#include "test_rand.h"

#define VALUES 5000
#define ERROR 0.01 // promised by the manual

static struct hist hist, second, copy;

// Each value of the low range has its own bucket; every bucket above is narrower than 1 % of its
// values.
static void test_buckets(void **state)
{
	for (uint64_t v = 0; v < 256; v++)
		assert_int_equal(hist_bucket(v), v);
	for (unsigned int bits = 1; bits < HIST_BITS; bits++) {
		const uint64_t power = 1ull << bits;

		assert_int_equal(hist_bucket(power), hist_bucket(power - 1) + 1);
		assert_true(hist_bucket(power + power / 100 + 1) > hist_bucket(power));
	}
	assert_int_equal(hist_bucket((1ull << HIST_BITS) - 1), HIST_BUCKETS - 1);
	assert_int_equal(hist_bucket(1ull << HIST_BITS), HIST_BUCKETS - 1);
	assert_int_equal(hist_bucket(UINT64_MAX), HIST_BUCKETS - 1);
}

static void test_buckets_rise(void **state)
{
	struct test_rand r = test_rand_start("buckets");

	for (int i = 0; i < 200000; i++) {
		const uint64_t a = test_rand(&r) >> test_rand_below(&r, 64);
		const uint64_t b = test_rand(&r) >> test_rand_below(&r, 64);

		assert_true(hist_bucket(a) < HIST_BUCKETS);
		if (a <= b)
			assert_true(hist_bucket(a) <= hist_bucket(b));
	}
}

static void test_few(void **state)
{
	hist_reset(&hist);
	assert_int_equal(hist_quantile(&hist, 0.5), 0);
	assert_int_equal(hist.n, 0);
	hist_add(&hist, 123456789);
	for (double q = 0; q <= 1; q += 0.125)
		assert_int_equal(hist_quantile(&hist, q), 123456789); // bounded by min and max
	hist_add(&hist, 0);
	assert_int_equal(hist_quantile(&hist, 0), 0);
	assert_int_equal(hist_quantile(&hist, 0.5), 0);
	assert_true(hist_quantile(&hist, 0.51) > 122000000);
	assert_int_equal(hist_quantile(&hist, 1), 123456789);
	assert_int_equal(hist_quantile(&hist, -1), 0);
	assert_int_equal(hist_quantile(&hist, 7), 123456789);
	assert_int_equal(hist_quantile(&hist, (double)__builtin_nanf("")), 0);
	hist_add(&hist, UINT64_MAX);
	assert_int_equal(hist.max, UINT64_MAX);
	assert_int_equal(hist_quantile(&hist, 1), UINT64_MAX);
	assert_int_equal(hist.n, 3);
}

// 1 .. 100: quantile q is the smallest v with v >= 100 q, without rounding errors.
static void test_ranks(void **state)
{
	hist_reset(&hist);
	for (uint64_t v = 1; v <= 100; v++)
		hist_add(&hist, v);
	for (int percent = 1; percent <= 100; percent++)
		assert_int_equal(hist_quantile(&hist, percent / 100.0), percent);
	assert_int_equal(hist_quantile(&hist, 0.001), 1);
	assert_int_equal(hist_quantile(&hist, 0.991), 100);
	assert_int_equal(hist_quantile(&hist, 0.999), 100);
}

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static bool near(uint64_t got, uint64_t want)
{
	const uint64_t diff = got < want ? want - got : got - want;

	return (double)diff <= ERROR * (double)want;
}

// Values of several distributions: uniform, many octaves, constant, two distant peaks.
static uint64_t shaped(struct test_rand *r, int shape)
{
	switch (shape % 4) {
	case 0:
		return test_rand(r) >> 24;
	case 1:
		return test_rand(r) >> (20 + test_rand_below(r, 44));
	case 2:
		return 987654321;
	default:
		return test_rand_below(r, 100) < 99 ? 5000 + test_rand_below(r, 50)
						    : 260000000 + test_rand_below(r, 1000000);
	}
}

// Compared with the sorted values.
static void test_quantiles(void **state)
{
	static const uint32_t parts[] = {
		1, 10, 123, 1000, 2500, 5000, 7500, 9000, 9900, 9990, 9999, 10000};
	static uint64_t v[VALUES];
	struct test_rand r = test_rand_start("quantiles");

	for (int shape = 0; shape < 12; shape++) {
		const uint32_t n = 1 + test_rand_below(&r, VALUES);

		hist_reset(&hist);
		for (uint32_t i = 0; i < n; i++)
			hist_add(&hist, v[i] = shaped(&r, shape));
		qsort(v, n, sizeof(v[0]), compare);
		assert_int_equal(hist.n, n);
		assert_int_equal(hist_quantile(&hist, 0), v[0]);
		assert_int_equal(hist_quantile(&hist, 1), v[n - 1]);
		for (size_t k = 0; k < sizeof(parts) / sizeof(parts[0]); k++) {
			const uint32_t rank = (parts[k] * n + 9999) / 10000; // rounded up

			assert_true(near(hist_quantile(&hist, parts[k] / 10000.0), v[rank - 1]));
		}
	}
}

static void assert_same(const struct hist *a, const struct hist *b)
{
	assert_int_equal(a->n, b->n);
	assert_int_equal(a->min, b->min);
	assert_int_equal(a->max, b->max);
	assert_memory_equal(a->count, b->count, sizeof(a->count));
}

static void test_merge(void **state)
{
	struct test_rand r = test_rand_start("merge");

	hist_reset(&hist);
	hist_reset(&second);
	hist_reset(&copy);
	hist_merge(&hist, &second);
	assert_same(&hist, &copy);
	for (int i = 0; i < 20000; i++) {
		const uint64_t v = shaped(&r, i);

		hist_add(i % 3 == 0 ? &hist : &second, v);
		hist_add(&copy, v);
	}
	hist_merge(&hist, &second);
	assert_same(&hist, &copy);
	hist_reset(&second);
	hist_merge(&hist, &second);
	assert_same(&hist, &copy);
	hist_merge(&second, &hist);
	assert_same(&second, &copy);
	hist_copy(&second, &hist);
	assert_same(&second, &hist);
}

// Values counted after a copy: by the difference, and by a separate histogram.
static void test_subtract(void **state)
{
	static struct hist since;
	struct test_rand r = test_rand_start("subtract");

	hist_reset(&hist);
	for (int round = 0; round < 40; round++) {
		const int n = round % 5 == 4 ? 0 : 1 + (int)test_rand_below(&r, 300);

		hist_copy(&second, &hist);
		hist_reset(&since);
		for (int i = 0; i < n; i++) {
			// sometimes the extremes are new, sometimes they are old
			const uint64_t v = 1000 + (test_rand(&r) >> (24 + round % 7));

			hist_add(&hist, v);
			hist_add(&since, v);
		}
		hist_copy(&copy, &hist);
		hist_subtract(&copy, &second);
		assert_int_equal(copy.n, since.n);
		assert_memory_equal(copy.count, since.count, sizeof(copy.count));
		if (n == 0) {
			assert_same(&copy, &since);
			continue;
		}
		assert_true(near(copy.min, since.min));
		assert_true(near(copy.max, since.max));
		if (hist.max > second.max)
			assert_int_equal(copy.max, since.max);
		if (hist.min < second.min)
			assert_int_equal(copy.min, since.min);
		for (double q = 0; q <= 1; q += 0.1)
			assert_true(near(hist_quantile(&copy, q), hist_quantile(&since, q)));
	}
}

static bool done;

static void *add_values(void *arg)
{
	struct test_rand r = {.s = 42};

	for (int i = 0; i < 3000000; i++)
		hist_add(arg, 100 + (test_rand(&r) >> (30 + (i & 31))));
	__atomic_store_n(&done, true, __ATOMIC_RELEASE);
	return NULL;
}

// Copies taken while another thread counts are consistent, and the last one is complete.
static void test_concurrent(void **state)
{
	uint64_t n = 0;
	pthread_t thread;
	bool last;

	hist_reset(&hist);
	done = false;
	assert_int_equal(pthread_create(&thread, NULL, add_values, &hist), 0);
	do {
		uint64_t sum = 0;

		last = __atomic_load_n(&done, __ATOMIC_ACQUIRE);
		hist_copy(&copy, &hist);
		for (uint32_t i = 0; i < HIST_BUCKETS; i++)
			sum += copy.count[i];
		assert_int_equal(copy.n, sum);
		assert_true(copy.n >= n);
		n = copy.n;
		if (n == 0)
			continue;
		for (uint32_t i = 0; i < hist_bucket(copy.min); i++)
			assert_int_equal(copy.count[i], 0);
		for (uint32_t i = hist_bucket(copy.max) + 1; i < HIST_BUCKETS; i++)
			assert_int_equal(copy.count[i], 0);
	} while (!last);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(n, 3000000);
	assert_same(&copy, &hist);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buckets),
		cmocka_unit_test(test_buckets_rise),
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_ranks),
		cmocka_unit_test(test_quantiles),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_subtract),
		cmocka_unit_test(test_concurrent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
