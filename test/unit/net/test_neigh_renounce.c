// SPDX-License-Identifier: BSD-3-Clause
// When routes change, notes of neighbours become void, known MACs remain, and no entry is pinned.
#include <stdlib.h>
#include <string.h>

#include "addr.h"
#include "hash.h"
#include "net.h"
#include "test.h"

#define PORT 3

static struct addr host(uint8_t n)
{
	const uint8_t v4[4] = {10, 0, 0, n};

	return addr_from_v4(v4);
}

// An entry for host n, which has answered.
static uint16_t reach(struct neigh_table *t, uint8_t n)
{
	struct net_neigh_msg m = {
		NET_NEIGH_ANSWER, .target = host(n), .solicited = true, .mac = {2, 0, 0, 0, 0, n}};
	const uint16_t i = neigh_use(t, &m.target, PORT, 0);
	struct neigh_due due;

	neigh_tick(t, 0, &due);
	assert_int_equal(neigh_learn(t, &m, PORT, false, 0), i);
	return i;
}

static void notes_are_void_and_no_entry_is_kept(void **state)
{
	static const struct hash_key key = {{1, 2, 3, 4}};
	const struct neigh_config c = {4, 4, 4, 1000};
	struct neigh_table *t = neigh_create(malloc(neigh_size(&c)), &c, &key);
	const uint16_t entry[] = {reach(t, 1), reach(t, 2)};
	const uint32_t note[] = {neigh_note(t, entry[0]), neigh_note(t, entry[1])};
	struct neigh_due due;
	uint16_t cursor = 0;

	neigh_keep(t, entry[0]);
	assert_true(neigh_renounce(t, &cursor, 3));
	assert_false(neigh_renounce(t, &cursor, 3));
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(neigh_noted(t, note[i]), NEIGH_NONE);
		assert_int_not_equal(neigh_hops(t)[entry[i]].serial, note[i] >> 16);
		assert_int_equal(neigh_hops(t)[entry[i]].serial, neigh_note(t, entry[i]) >> 16);
		assert_int_equal(neigh_hops(t)[entry[i]].mac[5], 1 + i);
		assert_int_equal(neigh_noted(t, neigh_note(t, entry[i])), entry[i]);
	}
	for (uint8_t n = 0; n < 4; n++) { // the first entry would keep its place if it was pinned
		const struct addr newcomer = host((uint8_t)(100 + n));

		neigh_tick(t, 100000u + n, &due);
		assert_int_not_equal(neigh_use(t, &newcomer, PORT, 100000u + n), NEIGH_NONE);
	}
	free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(notes_are_void_and_no_entry_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
