// SPDX-License-Identifier: BSD-3-Clause
// The neighbour table and claims to the address of a known neighbour: a new owner is found soon, a
// living owner keeps the address, and a flood of claims causes no flood of requests.
#include "neigh_hosts.h"
#include "test.h"

// Ticks and uses an entry every 10 ms. The host has `mac` and answers requests to that MAC or to
// all; NULL: no host answers. Returns the time when `mac` is in use, or the end.
static uint64_t live(
	struct neigh_table *t, uint16_t i, const uint8_t *mac, uint64_t begin, uint64_t until)
{
	for (uint64_t now = begin; now < until; now += 10) {
		const uint8_t *used = neigh_mac(t, i, now);

		if (used != NULL && mac != NULL && memcmp(used, mac, 6) == 0)
			return now;
		tick(t, now);
		for (unsigned int n = 0; mac != NULL && n < due.nb_asks; n++)
			if (!due.ask[n].unicast || memcmp(due.ask[n].mac, mac, 6) == 0)
				answer(t, load_host(&due.ask[n].target), mac, now);
	}
	return until;
}

// The address moves to another host, as when a router hands its address over.
static void test_moves(void **state)
{
	struct neigh_table *t = make_default();
	const uint16_t i = reach(t, 1, mac1, 0);

	assert_int_equal(claim(t, 1, mac2, 5000), NEIGH_NONE);
	assert_in_range(live(t, i, mac2, 5000, 20000), 5000, 6500);
	assert_hop(t, neigh_note(t, i), mac2);
	// and back soon after: the claim is remembered
	assert_int_equal(claim(t, 1, mac1, 5600), NEIGH_NONE);
	assert_in_range(live(t, i, mac1, 5600, 20000), 5600, 7100);
	// a request from the new owner has this effect, too
	assert_int_equal(asked_by(t, 1, mac2, 15000), NEIGH_NONE);
	assert_in_range(live(t, i, mac2, 15000, 30000), 15000, 16500);
	free(t);
}

// The new owner claims the address while the old one is being probed, or before its entry is stale.
static void test_moves_under_probe(void **state)
{
	struct neigh_table *t = make_default();
	const uint16_t i = reach(t, 1, mac1, 0);

	tick(t, 30000);
	assert_int_equal(live(t, i, NULL, 30000, 30500), 30500);
	assert_int_equal(neigh_state(t, i), NEIGH_PROBE);
	assert_int_equal(claim(t, 1, mac2, 30500), NEIGH_NONE);
	assert_in_range(live(t, i, mac2, 30500, 50000), 30500, 32000);
	tick(t, 70000);
	assert_int_equal(neigh_state(t, i), NEIGH_STALE);
	assert_int_equal(claim(t, 1, mac1, 70000), NEIGH_NONE);
	assert_in_range(live(t, i, mac1, 75000, 90000), 75000, 76500);
	free(t);
}

// A claim, and a forged answer to a request that only the owner received: the owner keeps the
// address.
static void test_claim_fails(void **state)
{
	struct neigh_table *t = make_default();
	const uint16_t i = reach(t, 1, mac1, 0);

	for (uint64_t now = 10; now < 60000; now += 10) {
		claim(t, 1, mac2, now);
		assert_memory_equal(neigh_mac(t, i, now), mac1, 6);
		tick(t, now);
		answer(t, 1, mac2, now); // before the owner's
		for (unsigned int n = 0; n < due.nb_asks; n++) {
			assert_true(due.ask[n].unicast);
			assert_memory_equal(due.ask[n].mac, mac1, 6);
			answer(t, 1, mac1, now);
		}
		answer(t, 1, mac2, now); // and after it
		assert_memory_equal(neigh_mac(t, i, now), mac1, 6);
	}
	free(t);
}

// Another host answers each request at once, also requests that only the owner received. The first
// `lost` answers of the owner to each run of requests are lost. Ticks are late_ms apart.
static void claimed_in_trouble(unsigned int lost, unsigned int late_ms)
{
	struct neigh_table *t = make_default();
	const uint16_t i = reach(t, 1, mac1, 0);
	unsigned int asked = 0, answered = 0;

	for (uint64_t now = 0; now < 120000; now += late_ms) {
		claim(t, 1, mac2, now);
		neigh_mac(t, i, now);
		tick(t, now);
		answer(t, 1, mac2, now);
		for (unsigned int n = 0; n < due.nb_asks; n++) {
			assert_true(due.ask[n].unicast);
			if (asked++ % (lost + 1) == lost) {
				answer(t, 1, mac1, now);
				answered++;
			}
		}
		assert_memory_equal(neigh_mac(t, i, now), mac1, 6);
	}
	assert_true(answered > 30);
	free(t);
}

// Lost answers, and a worker that gets no CPU time between its ticks.
static void test_claim_fails_in_trouble(void **state)
{
	claimed_in_trouble(1, 10);
	claimed_in_trouble(2, 10);
	claimed_in_trouble(2, 700);
}

// An answer of another host to an ordinary probe, the first and only lie: only the known owner was
// asked, and it keeps the address.
static void test_claim_answers_probe(void **state)
{
	struct neigh_table *t = make_default();
	const uint16_t i = reach(t, 1, mac1, 0);

	tick(t, 30000);
	neigh_mac(t, i, 30000);
	tick(t, 30000);
	assert_int_equal(due.nb_asks, 1);
	assert_int_equal(answer(t, 1, mac2, 30001), NEIGH_NONE);
	assert_memory_equal(neigh_mac(t, i, 30001), mac1, 6);
	assert_int_equal(answer(t, 1, mac1, 30002), NEIGH_NONE);
	assert_int_equal(neigh_state(t, i), NEIGH_REACHABLE);
	assert_memory_equal(neigh_mac(t, i, 30002), mac1, 6);
	free(t);
}

// No host answers after a claim: the entry is resolved again, fails, and stays in the negative
// cache.
static void test_claim_silence(void **state)
{
	struct neigh_table *t = make_default();
	const uint16_t i = reach(t, 1, mac1, 0);
	unsigned int asks = 0, failed = 0;

	claim(t, 1, mac2, 1000);
	for (uint64_t now = 1000; now < 6500 && failed == 0; now += 10) {
		neigh_mac(t, i, now);
		tick(t, now);
		asks += due.nb_asks;
		failed += due.nb_failed;
	}
	assert_int_equal(asks, 3 + 3);
	assert_int_equal(failed, 1);
	assert_int_equal(neigh_state(t, i), NEIGH_FAILED);
	free(t);
}

// Claims for many hosts, all of them in use. Returns how many requests they cause in ten seconds.
static unsigned int asked_by_claims(struct neigh_table *t, uint32_t hosts, bool answered)
{
	unsigned int n = 0;
	uint16_t index[256];

	for (uint32_t h = 0; h < hosts; h++)
		index[h] = reach(t, h, mac1, 1000000);
	for (uint64_t now = 1000001; now < 1010000; now++) {
		for (uint32_t h = 0; h < hosts; h++) {
			claim(t, h, mac2, now);
			neigh_mac(t, index[h], now);
		}
		tick(t, now);
		n += due.nb_asks;
		for (unsigned int k = 0; k < due.nb_asks && answered; k++)
			answer(t, load_host(&due.ask[k].target), mac1, now);
	}
	return n;
}

static void test_claim_flood(void **state)
{
	struct neigh_table *t = make_default();

	assert_in_range(asked_by_claims(t, 1, true), 5, 11); // one a second
	free(t);
	t = make(&(struct neigh_config){.asks = 1600});
	assert_in_range(asked_by_claims(t, 256, true), 500, 10 * 100 + 103);
	free(t);
	t = make(&(struct neigh_config){.asks = 1600});
	// a failed entry is resolved for the client that needs it, and no client needs it here
	assert_in_range(asked_by_claims(t, 256, false), 100, 10 * 100 + 103 + 256 * 6);
	free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moves),
		cmocka_unit_test(test_moves_under_probe),
		cmocka_unit_test(test_claim_fails),
		cmocka_unit_test(test_claim_fails_in_trouble),
		cmocka_unit_test(test_claim_answers_probe),
		cmocka_unit_test(test_claim_silence),
		cmocka_unit_test(test_claim_flood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
