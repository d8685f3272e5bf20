// SPDX-License-Identifier: BSD-3-Clause
// The tree of records ordered by hash: it finds its members and nothing else, on short paths, also
// with equal hashes.
#include <stdbool.h>

#include "test.h"
#include "test_rand.h"
#include "tables/trie.h"

#define RECORDS 4096

// Links in the middle of a record, as for a second tree.
static struct record {
	uint64_t hash;
	uint32_t padding;
	struct trie_links links;
} record[RECORDS];

static const struct trie tree = {&record[0].links, sizeof(record[0])};
static uint32_t root;

static uint32_t *find(uint32_t wanted, unsigned int *depth)
{
	uint64_t hash = record[wanted].hash;
	uint32_t *link = &root;

	for (*depth = 0; *link != TRIE_NONE && *link != wanted; ++*depth)
		link = trie_step(&tree, *link, &hash);
	return link;
}

static unsigned int count(uint32_t i)
{
	return i == TRIE_NONE
		? 0
		: 1 + count(record[i].links.child[0]) + count(record[i].links.child[1]);
}

// Random inserts and removes; members are found, others are not, and paths stay short.
static void test_property(void **state)
{
	static bool in[RECORDS];
	struct test_rand r = test_rand_start("trie");
	unsigned int used = 0, depth, deepest = 0;

	root = TRIE_NONE;
	for (int i = 0; i < 200000; i++) {
		const uint32_t x = test_rand_below(&r, RECORDS);
		uint32_t *link = find(x, &depth);

		assert_int_equal(*link == x, in[x]);
		deepest = depth > deepest ? depth : deepest;
		if (in[x] && test_rand_below(&r, 4) == 0) {
			trie_remove(&tree, link);
			in[x] = false;
			used--;
		} else if (!in[x]) {
			record[x].hash = test_rand(&r);
			trie_insert(&tree, find(x, &depth), x);
			in[x] = true;
			used++;
		}
		if (i % 1000 == 0)
			assert_int_equal(count(root), used);
	}
	assert_in_range(deepest, 11, 24); // log2(4096) is 12
	for (uint32_t x = 0; x < RECORDS; x++) {
		uint32_t *link = find(x, &depth);

		assert_int_equal(*link == x, in[x]);
		if (in[x])
			trie_remove(&tree, link);
	}
	assert_int_equal(root, TRIE_NONE);
}

// Equal hashes make a list that is longer than a hash has bits; each of its records can be removed.
static void test_same_hash(void **state)
{
	unsigned int depth;

	root = TRIE_NONE;
	for (uint32_t x = 0; x < 100; x++) {
		record[x].hash = UINT64_C(0xfedcba9876543210);
		trie_insert(&tree, find(x, &depth), x);
		assert_int_equal(depth, x);
	}
	for (uint32_t x = 0; x < 100; x += 2)
		trie_remove(&tree, find(x, &depth));
	for (uint32_t x = 0; x < 100; x++)
		assert_int_equal(*find(x, &depth) == x, x % 2 == 1);
	assert_int_equal(count(root), 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_property),
		cmocka_unit_test(test_same_hash),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
