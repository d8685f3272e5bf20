// SPDX-License-Identifier: BSD-3-Clause
// When a stream thread sleeps between its rounds: with many messages in a nap, and only then; and
// for how long: by what its naps have cost.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nap.h"

#define RATE 6 // messages in a millisecond that are enough for naps of 300 us

static struct nap begin(void)
{
	struct nap n;

	nap_init(&n);
	return n;
}

// Rounds for so long, each with so many messages; so many rounds a millisecond.
static void run(struct nap *n, uint64_t *now_ms, uint64_t ms, unsigned int rounds, uint32_t each,
	uint32_t told_us)
{
	for (uint64_t end = *now_ms + ms; *now_ms < end; ++*now_ms)
		for (unsigned int i = 0; i < rounds; i++)
			nap_see(n, *now_ms, each, told_us);
}

static void test_much(void **state)
{
	struct nap n = begin();
	uint64_t now = 1000000;

	assert_true(nap_see(&n, now, 0, 0)); // a first round, after a long time
	assert_false(nap_see(&n, now, 0, 0));
	run(&n, &now, 3, 1, RATE, 0);
	assert_true(n.on);
	run(&n, &now, 3, 3, RATE / 3, 0);
	assert_true(n.on);
	run(&n, &now, 3, RATE, 1, 0);
	assert_true(n.on);
	assert_int_equal(n.us, NAP_MAX_US);
}

static void test_little(void **state)
{
	struct nap n = begin();
	uint64_t now = 1000000;

	nap_see(&n, now, 1, 0);
	assert_false(n.on);
	run(&n, &now, 10, 1, RATE - 1, 0);
	assert_false(n.on);
	run(&n, &now, 10, 5, 0, 0);
	assert_false(n.on);
}

// It ends within two milliseconds of silence, and one heap does not begin it.
static void test_changes(void **state)
{
	struct nap n = begin();
	uint64_t now = 1000000;

	run(&n, &now, 5, 5, RATE, 0);
	assert_true(n.on);
	run(&n, &now, 2, 5, 0, 0);
	nap_see(&n, now, 0, 0);
	assert_false(n.on);
	nap_see(&n, now + 100, 0, 0); // slept in epoll
	nap_see(&n, now + 100, 5 * RATE, 0);
	nap_see(&n, now + 200, 0, 0);
	assert_false(n.on);
}

// A nap lasts for 20 times what it costs, between 50 and 300 us. So many messages come in it that
// it is cheaper than a wake for each.
static void test_cost(void **state)
{
	static const struct {
		uint32_t cost_ns, us, enough; // messages in 10 ms
	} t[] = {{500, 50, 320}, {2500, 50, 320}, {5000, 100, 160}, {8000, 160, 100},
		{15000, 300, 53}, {50000, 300, 53}};

	for (unsigned int i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct nap n = begin();

		for (unsigned int k = 0; k < 60; k++)
			if (sleep_cost_measures(&n.cost) || k > 16)
				sleep_cost_learn(&n.cost, t[i].cost_ns);
		nap_see(&n, 10, 0, 0);
		assert_in_range(n.us, t[i].us * 97 / 100, t[i].us);
		nap_see(&n, 20, t[i].enough * 95 / 100, 0);
		assert_false(n.on);
		nap_see(&n, 30, t[i].enough * 105 / 100, 0);
		assert_true(n.on);
	}
}

// Whoever is told for how long sleeps for that, and for no less than it is worth.
static void test_told(void **state)
{
	struct nap n = begin();
	uint64_t now = 1000000;

	nap_see(&n, now, 0, 1000);
	run(&n, &now, 10, 1, 2, 1000);
	assert_true(n.on);
	assert_int_equal(n.us, 1000);
	run(&n, &now, 10, 1, 1, 1000);
	assert_false(n.on);
	run(&n, &now, 10, 1, 10, 100);
	assert_int_equal(n.us, NAP_MAX_US);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_much),
		cmocka_unit_test(test_little),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_cost),
		cmocka_unit_test(test_told),
	};

	return cmocka_run_group_tests_name("nap", tests, NULL, NULL);
}
