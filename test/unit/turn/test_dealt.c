// SPDX-License-Identifier: BSD-3-Clause
// Clients are distributed over shards by their hash. Each burst is sorted by home, and no datagram
// is lost or overtakes another. A shard's table still fills evenly, although the clients of one
// shard agree in the bits of the hash that choose the home.
#include <stdlib.h>

#include "turn_fixture.h"

#include "tables/table.h"

static struct hash_key random_key(struct test_rand *r)
{
	struct hash_key key;

	test_rand_fill(r, &key, sizeof(key));
	return key;
}

// A view as accept makes it: for a client, or for a peer without an allocation.
static void random_view(struct test_rand *r, const struct fixture *f, struct turn_view *v)
{
	static const uint8_t data[4] = {0x40};

	*v = (struct turn_view){.src = addr_from_v4((const uint8_t *)"\x0a\x63\x01\x02"),
		.leg = (uint8_t)test_rand_below(r, 2),
		.data = data,
		.len = sizeof(data),
		.via = TURN_NO_WORKER};
	v->src.b[15] = (uint8_t)test_rand(r);
	v->mark = (uint32_t)test_rand_below(r, 1 << 16);
	if (v->leg == TURN_FROM_CLIENT)
		v->listener = (uint8_t)test_rand_below(r, f->config.nb_listeners);
	else
		v->slot = (uint32_t)test_rand_below(r, 256);
}

// Computes the lists of the burst one view after the other, and compares them.
static void check_sorted(const struct turn_burst *b, const struct hash_key *key, uint8_t worker)
{
	unsigned int nb[2] = {0, 0}, away = 0;

	for (unsigned int i = 0; i < b->n; i++) {
		const struct turn_view *v = &b->view[i];
		const uint64_t hash =
			hash_addr(key, &v->src, v->src_port | (uint32_t)v->listener << 16);

		if (v->leg == TURN_FROM_CLIENT)
			assert_int_equal(v->hash, hash);
		if (v->leg == TURN_FROM_CLIENT && b->homes > 1 && b->homes != TURN_HASHED &&
			turn_client_home(hash, b->homes) != worker)
			assert_int_equal(b->elsewhere[away++], i);
		else
			assert_int_equal(b->by_leg[v->leg][nb[v->leg]++], i);
	}
	assert_int_equal(b->nb[TURN_FROM_CLIENT], nb[TURN_FROM_CLIENT]);
	assert_int_equal(b->nb[TURN_FROM_PEER], nb[TURN_FROM_PEER]);
	assert_int_equal(b->nb_elsewhere, away);
}

static void test_sorted(void **state)
{
	static const unsigned int homes[] = {0, 1, 2, 3, 16, TURN_WORKERS_MAX, TURN_HASHED};
	struct test_rand r = test_rand_start("dealt");
	const struct turn_config config = fixture_config();
	const struct hash_key key = random_key(&r);
	unsigned int away = 0, bursts = 0;
	struct fixture f;

	fixture_open_sized(
		&f, &config, &(struct turn_shard_params){.client_key = &key}, test_rand(&r));
	for (unsigned int n = 0; n < 6000; n++, bursts++) {
		f.burst.homes = homes[n % 7];
		f.burst.n = (unsigned int)test_rand_below(&r, TURN_BURST + 1);
		for (unsigned int i = 0; i < f.burst.n; i++)
			random_view(&r, &f, &f.burst.view[i]);
		for (unsigned int i = 0; f.burst.homes == TURN_HASHED && i < f.burst.n; i++)
			f.burst.view[i].hash =
				turn_client_hash(&key, &f.burst.view[i].src, f.burst.view[i].mark);
		turn_route_begin(f.shard, &f.burst);
		check_sorted(&f.burst, &key, 0);
		away += f.burst.nb_elsewhere;
	}
	assert_in_range(away, bursts, bursts * TURN_BURST); // at home and elsewhere were frequent
	fixture_close(&f);
}

// Every home gets its share, within six standard deviations.
static void test_even(void **state)
{
	static const unsigned int homes[] = {2, 3, 7, 64};
	struct test_rand r = test_rand_start("dealt");
	const struct hash_key key = random_key(&r);

	for (unsigned int k = 0; k < 4; k++) {
		const unsigned int each = 10000;
		unsigned int count[64] = {0};
		struct addr a = addr_from_v4((const uint8_t *)"\x0a\x00\x00\x00");

		for (uint32_t i = 0; i < homes[k] * each; i++) {
			memcpy(a.b + 12, &i, sizeof(i));
			count[turn_client_home(turn_client_hash(&key, &a, 3478), homes[k])]++;
		}
		for (unsigned int h = 0; h < homes[k]; h++)
			assert_in_range(count[h], each - 600, each + 600);
	}
}

// A shard's table holds the number of clients it is made for, even if all hash to one home.
static void test_room(void **state)
{
	static const unsigned int homes[] = {1, 2, 16, 64};
	const uint32_t capacity = 20000;
	struct test_rand r = test_rand_start("dealt");
	const struct hash_key key = random_key(&r);
	const size_t size = (table_size(capacity) + 63) & ~(size_t)63;
	void *mem = aligned_alloc(64, size);

	assert_non_null(mem);
	for (unsigned int k = 0; k < 4; k++) {
		struct addr a = addr_from_v4((const uint8_t *)"\x0a\x00\x00\x00");
		struct table t;
		uint32_t i = 0;

		memset(mem, 0, size);
		table_init(&t, mem, capacity);
		while (t.used < capacity) {
			uint64_t hash;

			memcpy(a.b + 12, &i, sizeof(i));
			hash = turn_client_hash(&key, &a, 3478);
			i++;
			if (turn_client_home(hash, homes[k]) == homes[k] / 2)
				assert_true(table_insert(&t, hash, i));
		}
	}
	free(mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sorted),
		cmocka_unit_test(test_even),
		cmocka_unit_test(test_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
