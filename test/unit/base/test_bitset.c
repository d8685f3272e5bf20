// SPDX-License-Identifier: BSD-3-Clause
// The set of numbers that finds its nth member, against an array of flags and at its limits.
#include <stdlib.h>
#include <string.h>

#include "tables/bitset.h"
#include "test.h"
#include "test_rand.h"

static struct bitset make(uint32_t n)
{
	struct bitset b;
	void *mem = calloc(1, bitset_size(n)); // exact, for sanitizers

	assert_non_null(mem);
	bitset_init(&b, mem, n);
	return b;
}

// Against an array of flags, at sizes near the limits of words, blocks and ranges.
static void test_property(void **state)
{
	static const uint32_t sizes[] = {
		1, 63, 64, 65, 511, 512, 513, 4000, 32767, 32768, 32769, 100000};
	static bool in[100000];
	struct test_rand r = test_rand_start("bitset");

	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
		const uint32_t n = sizes[k];
		struct bitset b = make(n);
		uint32_t used = 0, rank = 0;

		memset(in, 0, sizeof(in));
		for (uint32_t i = 0; i < 3 * n + 100; i++) {
			const uint32_t x = test_rand_below(&r, n);
			const bool member = test_rand_below(&r, 3) > 0;

			assert_int_equal(bitset_put(&b, x, member), in[x] != member);
			used = used + member - in[x];
			in[x] = member;
			assert_int_equal(bitset_has(&b, x), member);
			assert_int_equal(b.used, used);
		}
		for (uint32_t x = 0; x < n; x++) {
			assert_int_equal(bitset_has(&b, x), in[x]);
			if (in[x])
				assert_int_equal(bitset_nth(&b, rank++), x);
		}
		assert_int_equal(rank, used);
		for (uint32_t x = 0; x < n; x++)
			bitset_put(&b, x, false);
		assert_int_equal(b.used, 0);
		free(b.word);
	}
}

// Only the two ends of a large set; little memory apart from the bits.
static void test_sparse(void **state)
{
	const uint32_t n = 3000000;
	struct bitset b = make(n);

	bitset_put(&b, n - 1, true);
	assert_int_equal(bitset_nth(&b, 0), n - 1);
	bitset_put(&b, 0, true);
	assert_int_equal(bitset_nth(&b, 0), 0);
	assert_int_equal(bitset_nth(&b, 1), n - 1);
	assert_in_range(bitset_size(n), n / 8, n / 8 + n / 200);
	free(b.word);
}

// The next member from any number on, in sets that are full, empty, or dense in places.
static void test_next(void **state)
{
	struct test_rand r = test_rand_start("bitset-next");
	const uint32_t n = 100000;

	for (unsigned int round = 0; round < 20; round++) {
		struct bitset b = make(n);
		uint32_t next = n;

		for (unsigned int i = 0; i < round * round; i++)
			bitset_put(&b, (uint32_t)test_rand_below(&r, n), true);
		for (uint32_t i = 70000; i < 70000 + 100 * round; i++)
			bitset_put(&b, i, true);
		assert_int_equal(bitset_next(&b, n, n), n);
		for (uint32_t i = n; i-- > 0;) {
			next = bitset_has(&b, i) ? i : next;
			assert_int_equal(bitset_next(&b, i, n), next);
		}
		free(b.word);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_property),
		cmocka_unit_test(test_next),
		cmocka_unit_test(test_sparse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
