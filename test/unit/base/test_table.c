// SPDX-License-Identifier: BSD-3-Clause
// The hash table: full buckets, equal hashes, and random inserts and removes against a plain array.
#include <stdlib.h>
#include <string.h>

#include "tables/table.h"
#include "test.h"
#include "test_rand.h"

#define CAPACITY 4096

static void make(struct table *t, uint32_t capacity)
{
	const size_t size = table_size(capacity);
	void *mem = aligned_alloc(64, size);

	assert_non_null(mem);
	memset(mem, 0, size);
	table_init(t, mem, capacity);
}

// Number of times that value is a candidate for hash.
static unsigned int candidates(const struct table *t, uint64_t hash, uint32_t value)
{
	struct table_iter it = {0};
	unsigned int n = 0, steps = 0;
	uint32_t v;

	while (table_next(t, hash, &it, &v)) {
		n += v == value;
		assert_true(++steps <= 2 * TABLE_WAYS);
	}
	assert_false(table_next(t, hash, &it, &v)); // the end stays the end
	return n;
}

static void test_basics(void **state)
{
	struct table t;

	assert_int_equal(sizeof(struct table_bucket), 64);
	assert_int_equal(table_size(0), 128);
	assert_int_equal(table_size(12), 128);
	assert_int_equal(table_size(13), 192);
	assert_int_equal(table_size(6250000), 64000000);
	make(&t, 16);
	assert_int_equal(candidates(&t, 0, 0), 0); // free ways are not candidates for tag 0
	assert_true(table_insert(&t, 0, 7));
	assert_int_equal(candidates(&t, 0, 7), 1);
	assert_false(table_remove(&t, 0, 8));
	assert_true(table_remove(&t, 0, 7));
	assert_false(table_remove(&t, 0, 7));
	assert_int_equal(candidates(&t, 0, 7), 0);
	assert_int_equal(t.used, 0);
	free(t.bucket);
}

// The vector comparison equals one slot at a time, whatever follows the tags.
static void test_match(void **state)
{
	struct test_rand r = test_rand_start("match");

	for (unsigned int i = 0; i < 10000; i++) {
		struct table_bucket b;
		const uint16_t tag = (uint16_t)test_rand_below(&r, 3);
		uint32_t wanted = 0;

		for (unsigned int k = 0; k < sizeof(b) / 2; k++) {
			const uint16_t v = (uint16_t)test_rand_below(&r, 3);

			memcpy((uint8_t *)&b + 2 * k, &v, 2);
		}
		for (unsigned int slot = 0; slot < TABLE_WAYS; slot++)
			wanted |= (uint32_t)(b.tag[slot] == tag) << slot;
		assert_int_equal(table_match(&b, tag), wanted);
	}
}

// Entries with one hash fill both of its buckets and no more; all are found and can be removed.
static void test_same_hash(void **state)
{
	const uint64_t hash = 0x1234567890abcdef;
	struct table t;

	make(&t, 64);
	for (uint32_t v = 0; v < 2 * TABLE_WAYS; v++)
		assert_true(table_insert(&t, hash, v));
	assert_false(table_insert(&t, hash, 99));
	assert_int_equal(t.used, 2 * TABLE_WAYS);
	for (uint32_t v = 0; v < 2 * TABLE_WAYS; v++)
		assert_int_equal(candidates(&t, hash, v), 1);
	for (uint32_t v = 0; v < 2 * TABLE_WAYS; v++)
		assert_true(table_remove(&t, hash, v));
	for (uint32_t b = 0; b < t.nb_buckets; b++)
		assert_int_equal(t.bucket[b].displaced, 0);
	free(t.bucket);
}

// Against a plain array under random inserts and removes at up to full capacity.
static void test_property(void **state)
{
	static uint64_t hash_of[CAPACITY];
	static bool present[CAPACITY];
	struct test_rand r = test_rand_start("table");
	uint32_t used = 0;
	struct table t;

	make(&t, CAPACITY);
	memset(present, 0, sizeof(present));
	for (int i = 0; i < 200000; i++) {
		const uint32_t v = test_rand_below(&r, CAPACITY);

		if (present[v]) {
			assert_int_equal(candidates(&t, hash_of[v], v), 1);
			if (test_rand_below(&r, 4) != 0)
				continue; // keeps the table at four fifths of its capacity
			assert_true(table_remove(&t, hash_of[v], v));
			used--;
		} else {
			hash_of[v] = test_rand(&r) & ~(test_rand_below(&r, 2) * 0x0fff000000000000);
			assert_true(table_insert(&t, hash_of[v], v));
			used++;
		}
		present[v] = !present[v];
		assert_int_equal(candidates(&t, hash_of[v], v), present[v]);
		assert_int_equal(t.used, used);
	}
	for (uint32_t v = 0; v < CAPACITY; v++)
		if (present[v])
			assert_true(table_remove(&t, hash_of[v], v));
	for (uint32_t b = 0; b < t.nb_buckets; b++)
		assert_int_equal(t.bucket[b].displaced, 0);
	free(t.bucket);
}

// "An insert practically never fails": a table filled to its capacity, several times.
static void test_fill(void **state)
{
	struct test_rand r = test_rand_start("fill");
	struct table t;

	for (uint32_t round = 0; round < 8; round++) {
		const uint32_t n = (1u << 16) + round * 1237; // no power of two
		uint32_t displaced = 0;

		make(&t, n);
		for (uint32_t v = 0; v < n; v++)
			assert_true(table_insert(&t, test_rand(&r), v));
		for (uint32_t b = 0; b < t.nb_buckets; b++)
			displaced += t.bucket[b].displaced;
		assert_true(displaced < n / 3); // most are found in the first line
		free(t.bucket);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_basics),
		cmocka_unit_test(test_match),
		cmocka_unit_test(test_same_hash),
		cmocka_unit_test(test_property),
		cmocka_unit_test(test_fill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
