// SPDX-License-Identifier: BSD-3-Clause
// When a stream thread naps between its rounds, which it does only with many messages in a nap; and
// for how long, which depends on the measured cost of a nap.
#include "nap.h"
#include "test.h"

#define RATE 6 // messages per millisecond that suffice for naps of 300 us

static uint64_t now;

static struct nap begin(void)
{
	struct nap n;

	now = 1000000;
	nap_init(&n);
	return n;
}

// Runs rounds for `ms`, `rounds` per millisecond, with `each` messages in each.
static void run(struct nap *n, uint64_t ms, unsigned int rounds, uint32_t each, uint32_t told_us)
{
	for (const uint64_t end = now + ms; now < end; now++)
		for (unsigned int i = 0; i < rounds; i++)
			nap_see(n, now, each, told_us);
}

static void test_much(void **state)
{
	struct nap n = begin();

	assert_true(nap_see(&n, now, 0, 0)); // a first round, after a long time
	assert_false(nap_see(&n, now, 0, 0));
	run(&n, 3, 1, RATE, 0);
	assert_true(n.on);
	run(&n, 3, 3, RATE / 3, 0);
	assert_true(n.on);
	run(&n, 3, RATE, 1, 0);
	assert_true(n.on);
	assert_int_equal(n.us, NAP_MAX_US);
}

static void test_little(void **state)
{
	struct nap n = begin();

	nap_see(&n, now, 1, 0);
	assert_false(n.on);
	run(&n, 10, 1, RATE - 1, 0);
	assert_false(n.on);
	run(&n, 10, 5, 0, 0);
	assert_false(n.on);
}

// Naps stop after two milliseconds of silence, and one burst does not start them.
static void test_changes(void **state)
{
	struct nap n = begin();

	run(&n, 5, 5, RATE, 0);
	assert_true(n.on);
	run(&n, 2, 5, 0, 0);
	nap_see(&n, now, 0, 0);
	assert_false(n.on);
	nap_see(&n, now + 100, 0, 0); // slept in epoll
	nap_see(&n, now + 100, 5 * RATE, 0);
	nap_see(&n, now + 200, 0, 0);
	assert_false(n.on);
}

// A nap lasts for 20 times its cost, between 50 and 300 us, and needs so many messages that it is
// cheaper than a wake for each of them.
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

// A thread with a given duration sleeps for that long, and not less than is worthwhile.
static void test_told(void **state)
{
	struct nap n = begin();

	nap_see(&n, now, 0, 1000);
	run(&n, 10, 1, 2, 1000);
	assert_true(n.on);
	assert_int_equal(n.us, 1000);
	run(&n, 10, 1, 1, 1000);
	assert_false(n.on);
	run(&n, 10, 1, 10, 100);
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
