// SPDX-License-Identifier: BSD-3-Clause
// Targets that the workers have asked for: how many answers a request admits, for how long, and
// from whom.
#include "neigh_hosts.h"
#include "neigh/neigh_asked.h"
#include "test.h"

#define START UINT64_C(1000000)

static struct neigh_asked *asked;

static int setup(void **state)
{
	void *mem = aligned_alloc(64, (neigh_asked_size() + 63) / 64 * 64);

	assert_non_null(mem);
	asked = neigh_asked_create(mem, &key);
	return 0;
}

static int teardown(void **state)
{
	free(asked);
	return 0;
}

static void asks(uint32_t n, const uint8_t *owner, uint64_t now)
{
	struct neigh_ask ask = {.target = host(n), .unicast = owner != NULL, .port = PORT};

	if (owner != NULL)
		memcpy(ask.mac, owner, sizeof(ask.mac));
	neigh_asked_note(asked, &ask, now);
}

static bool told(uint32_t n, const uint8_t *mac, bool solicited, uint64_t now)
{
	struct net_neigh_msg m = {NET_NEIGH_ANSWER, .target = host(n), .solicited = solicited};

	if (mac != NULL)
		memcpy(m.mac, mac, sizeof(m.mac));
	return neigh_asked_for(asked, &m, PORT, false, now);
}

static bool told_asking(uint32_t n, const uint8_t *mac, uint64_t now)
{
	struct net_neigh_msg m = {NET_NEIGH_ASK, .target = host(999), .sender = host(n)};

	memcpy(m.mac, mac, sizeof(m.mac));
	return neigh_asked_for(asked, &m, PORT, true, now);
}

static void unrequested_claims_are_not_shared(void **state)
{
	assert_false(told(1, mac1, true, START));
	assert_false(told(1, mac1, false, START));
	assert_false(told_asking(1, mac1, START));
	asks(1, NULL, START);
	assert_false(told(2, mac1, true, START));
}

static void a_question_to_all_is_worth_an_answer(void **state)
{
	asks(1, NULL, START);
	asks(1, NULL, START); // from another worker
	assert_true(told(1, mac1, true, START + 1000));
	assert_true(told(1, mac2, true, START + 1000));
	for (unsigned int i = 0; i < 3; i++) // as claims
		assert_true(told(1, mac2, true, START + 1000));
	assert_false(told(1, mac2, true, START + 1000));
}

static void the_owner_is_heard_behind_a_flood(void **state)
{
	asks(1, mac1, START);
	for (unsigned int i = 0, n = 0; i < 10000; i++) {
		n += told(1, mac2, true, START + i / 20);
		n += told(1, mac2, false, START + i / 20);
		n += told_asking(1, mac2, START + i / 20);
		assert_in_range(n, 1, 3);
	}
	assert_true(told(1, mac1, true, START + 600));
	assert_false(told(1, mac1, true, START + 600));
	assert_true(told(1, mac2, false, START + 600)); // a claim counts again
	// an advertisement without a MAC says that the MAC is unchanged
	asks(1, mac1, START + 700);
	assert_true(told(1, NULL, true, START + 700));
	assert_false(told(1, NULL, true, START + 700));
}

// The owner's own messages use nothing up; after a minute without requests nothing counts.
static void claims(void **state)
{
	const struct addr one = host(1);

	asks(1, NULL, START);
	assert_true(told(1, mac1, true, START));
	neigh_asked_owner(asked, &one, PORT, mac1, START);
	for (unsigned int i = 0; i < 100; i++) {
		assert_false(told(1, mac1, false, START + 20000));
		assert_false(told_asking(1, mac1, START + 20000));
	}
	assert_true(told(1, mac2, false, START + 20000));
	neigh_asked_owner(asked, &one, PORT, mac2, START);
	assert_true(told_asking(1, mac1, START + 20000));
	assert_false(told(1, mac1, false, START + 100000));
}

// Many targets: few are forgotten before the table is full, and the oldest first.
static void many(void **state)
{
	unsigned int n = 0;

	for (uint32_t h = 0; h < 100000; h++)
		asks(h, mac1, START + h);
	for (uint32_t h = 80000; h < 100000; h++)
		n += told(h, mac2, false, START + 100000);
	assert_in_range(n, 19500, 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(unrequested_claims_are_not_shared, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_question_to_all_is_worth_an_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(the_owner_is_heard_behind_a_flood, setup, teardown),
		cmocka_unit_test_setup_teardown(claims, setup, teardown),
		cmocka_unit_test_setup_teardown(many, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
