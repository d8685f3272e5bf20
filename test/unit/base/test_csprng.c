// SPDX-License-Identifier: BSD-3-Clause
// The buffered source of random bytes: no byte is handed out twice, and numbers below a bound are
// unbiased.
#include <string.h>

#include "csprng.h"
#include "test.h"
#include "test_rand.h"

// A source with distinguishable bytes: 1, 2, 3, ... never 0.
struct counter {
	uint8_t next;
	size_t drawn;
};

static void count_fill(void *ctx, void *buf, size_t len)
{
	struct counter *c = ctx;
	uint8_t *p = buf;

	c->drawn += len;
	for (size_t i = 0; i < len; i++) {
		c->next = c->next == 255 ? 1 : c->next + 1;
		p[i] = c->next;
	}
}

// No byte is handed out twice, and the buffer keeps no byte that was handed out.
static void test_bytes(void **state)
{
	struct counter c = {0, 0};
	struct csprng r;
	uint8_t out[100];
	uint8_t big[1000];

	csprng_init(&r, count_fill, &c);
	assert_int_equal(c.drawn, 0);
	csprng_bytes(&r, out, 100);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(out[i], i + 1);
		assert_int_equal(r.buf[i], 0);
	}
	csprng_bytes(&r, out, 100);
	for (int i = 0; i < 100; i++)
		assert_int_equal(out[i], i + 101);
	assert_int_equal(r.left, 56);
	csprng_bytes(&r, out, 57); // more than remains: a fresh buffer
	assert_int_equal(c.drawn, 512);
	csprng_bytes(&r, big, sizeof(big)); // straight from the source
	assert_int_equal(c.drawn, 1512);
	csprng_bytes(&r, out, 0);
	assert_int_equal(c.drawn, 1512);
}

static void test_below(void **state)
{
	struct test_rand seed = test_rand_start("below");
	struct csprng r;
	unsigned int seen[7] = {0};

	csprng_init(&r, test_rand_source, &seed);
	for (int i = 0; i < 70000; i++)
		seen[csprng_below(&r, 7)]++;
	for (int i = 0; i < 7; i++)
		assert_in_range(seen[i], 9400, 10600); // 6 sigma
	for (int i = 0; i < 100; i++) {
		assert_int_equal(csprng_below(&r, 1), 0);
		assert_true(csprng_below(&r, UINT32_MAX) < UINT32_MAX);
	}
}

// With a bound of 3 * 2^30 a biased generator (modulo, or scaling without rejection) gives a third
// of the range twice as often.
static void test_below_unbiased(void **state)
{
	const uint32_t bound = 3u << 30;
	struct test_rand seed = test_rand_start("unbiased");
	struct csprng r;
	unsigned int residue[3] = {0}, third[3] = {0};

	csprng_init(&r, test_rand_source, &seed);
	for (int i = 0; i < 90000; i++) {
		const uint32_t v = csprng_below(&r, bound);

		residue[v % 3]++;
		third[v >> 30]++;
	}
	for (int i = 0; i < 3; i++) {
		assert_in_range(residue[i], 29100, 30900);
		assert_in_range(third[i], 29100, 30900);
	}
}

static void test_u64(void **state)
{
	struct test_rand seed = test_rand_start("u64");
	struct csprng r;
	uint64_t all = 0, none = UINT64_MAX;

	csprng_init(&r, test_rand_source, &seed);
	for (int i = 0; i < 200; i++) {
		const uint64_t v = csprng_u64(&r);

		all |= v;
		none &= v;
	}
	assert_true(all == UINT64_MAX && none == 0); // every bit moves
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_below),
		cmocka_unit_test(test_below_unbiased),
		cmocka_unit_test(test_u64),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
