// SPDX-License-Identifier: BSD-3-Clause
// The keyed hash, with AES instructions if available, and without: the properties that callers rely
// on.
#include <stdlib.h>
#include <string.h>

#include "hash_portable.h"
#include "tables/table.h"
#include "test.h"
#include "test_rand.h"

#define IDS 200000
#define ID_LEN 12 // of a transaction id, the main use of the wide hash

static struct test_rand rnd;

struct kind {
	uint64_t (*narrow)(const struct hash_key *, const struct addr *, uint64_t);
	void (*wide)(const struct hash_key *, const struct addr *, uint64_t, uint8_t *);
};

static uint64_t narrow(const struct hash_key *key, const struct addr *a, uint64_t extra)
{
	return hash_addr(key, a, extra);
}

static void wide(const struct hash_key *key, const struct addr *a, uint64_t extra, uint8_t *out)
{
	hash_addr_wide(key, a, extra, out);
}

static struct kind kinds[] = {{narrow, wide}, {portable_hash_addr, portable_hash_addr_wide}};

static struct hash_key random_key(void)
{
	struct hash_key key;

	test_rand_fill(&rnd, &key, sizeof(key));
	return key;
}

// The wide hash begins with the narrow one.
static void test_same_beginning(void **state)
{
	const struct kind *k = *state;

	for (unsigned int n = 0; n < 10000; n++) {
		const struct hash_key key = random_key();
		const uint64_t extra = test_rand(&rnd);
		struct addr a;
		uint8_t out[17];
		uint64_t first;

		test_rand_fill(&rnd, &a, sizeof(a));
		out[16] = 0x5a;
		k->wide(&key, &a, extra, out);
		first = k->narrow(&key, &a, extra);
		assert_memory_equal(out, &first, sizeof(first));
		assert_int_equal(out[16], 0x5a);
	}
}

static int id_cmp(const void *a, const void *b)
{
	return memcmp(a, b, ID_LEN);
}

// All ids made from a counter differ, and so do their second halves.
static void test_counter(void **state)
{
	static const size_t offsets[] = {0, 8};
	const struct kind *k = *state;
	const struct hash_key key = random_key();
	uint8_t(*id)[ID_LEN] = malloc(IDS * ID_LEN);

	assert_non_null(id);
	for (unsigned int i = 0; i < 2; i++) {
		memset(id, 0, IDS * ID_LEN);
		for (uint64_t n = 0; n < IDS; n++) {
			const struct addr count = {.d = {n + 1, 0}};
			uint8_t out[16];

			k->wide(&key, &count, 0, out);
			memcpy(id[n], out + offsets[i], i == 0 ? ID_LEN : 8);
		}
		qsort(id, IDS, ID_LEN, id_cmp);
		for (unsigned int n = 1; n < IDS; n++)
			assert_memory_not_equal(id[n - 1], id[n], ID_LEN);
	}
	free(id);
}

// Every bit of address, extra and key has an effect on each half of the wide hash.
static void test_bits(void **state)
{
	const struct kind *k = *state;

	for (unsigned int bit = 0; bit < 128 + 64 + 256; bit++) {
		struct hash_key key = random_key();
		uint64_t extra = test_rand(&rnd);
		struct addr a;
		uint8_t one[16], changed[16];

		test_rand_fill(&rnd, &a, sizeof(a));
		k->wide(&key, &a, extra, one);
		if (bit < 128)
			a.b[bit / 8] ^= (uint8_t)(1 << bit % 8);
		else if (bit < 192)
			extra ^= UINT64_C(1) << (bit - 128);
		else
			key.k[(bit - 192) / 64] ^= UINT64_C(1) << bit % 64;
		k->wide(&key, &a, extra, changed);
		assert_memory_not_equal(one, changed, 8);
		assert_memory_not_equal(one + 8, changed + 8, 8);
	}
}

#define PLACES 64
#define KEYS 50

// Keys that are similar in some respect: IPv4 and IPv6 hosts, networks, and one address with
// different extras.
static uint64_t hash_nth(const struct kind *k, const struct hash_key *key, int how, uint32_t n)
{
	const uint8_t v4[4] = {10, (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n};
	uint8_t v6[16] = {0x20, 0x01, 0x0d, 0xb8};
	struct addr a;

	if (how == 0) {
		a = addr_from_v4(v4);
	} else {
		memcpy(v6 + (how == 1 ? 12 : 4), v4, how < 3 ? sizeof(v4) : 0);
		a = addr_from_v6(v6);
	}
	return k->narrow(key, &a, how == 3 ? n : 3);
}

// Inserts that find no place while a full table's entries are replaced, the oldest first.
static unsigned int count_refused(const struct kind *k, const struct hash_key *key, int how)
{
	static _Alignas(64) uint8_t mem[16 * 64];
	uint64_t hash[PLACES];
	bool is_in[PLACES] = {false};
	unsigned int refused = 0;
	struct table t;

	assert_in_range(table_size(PLACES), 1, sizeof(mem));
	memset(mem, 0, sizeof(mem));
	table_init(&t, mem, PLACES);
	for (uint32_t n = 0; n < PLACES * 100; n++) {
		const uint32_t i = n % PLACES;

		if (is_in[i])
			assert_true(table_remove(&t, hash[i], i));
		hash[i] = hash_nth(k, key, how, n);
		is_in[i] = table_insert(&t, hash[i], i);
		refused += !is_in[i];
	}
	return refused;
}

// Similar keys spread over a table like random numbers, of which one in some millions finds no
// place.
static void test_places(void **state)
{
	unsigned int refused = 0;

	for (unsigned int n = 0; n < KEYS; n++) {
		const struct hash_key key = random_key();

		for (int how = 0; how < 4; how++)
			refused += count_refused(*state, &key, how);
	}
	assert_in_range(refused, 0, 8); // of 1,280,000
}

#define OF_EACH(test)                                             \
	{#test, test, NULL, NULL, &kinds[0]},                     \
	{                                                         \
#test " without AES", test, NULL, NULL, &kinds[1] \
	}

int main(void)
{
	const struct CMUnitTest tests[] = {
		OF_EACH(test_same_beginning),
		OF_EACH(test_counter),
		OF_EACH(test_bits),
		OF_EACH(test_places),
	};

	rnd = test_rand_start("hash");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
