// SPDX-License-Identifier: BSD-3-Clause
// When a stream thread sleeps between its rounds: with many messages a millisecond, and only then.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "nap.h"

// Rounds for so long, each with so many messages; so many rounds a millisecond.
static void run(struct nap *n, uint64_t *now_ms, uint64_t ms, unsigned int rounds, uint32_t each)
{
	for (uint64_t end = *now_ms + ms; *now_ms < end; ++*now_ms)
		for (unsigned int i = 0; i < rounds; i++)
			nap_see(n, *now_ms, each);
}

static void test_much(void **state)
{
	struct nap n = {0};
	uint64_t now = 1000000;

	nap_see(&n, now, 0); // a first round, after a long time
	run(&n, &now, 3, 1, NAP_RATE);
	assert_true(n.on);
	run(&n, &now, 3, 4, NAP_RATE / 4);
	assert_true(n.on);
	run(&n, &now, 3, NAP_RATE, 1);
	assert_true(n.on);
}

static void test_little(void **state)
{
	struct nap n = {0};
	uint64_t now = 1000000;

	nap_see(&n, now, 1);
	assert_false(n.on);
	run(&n, &now, 10, 1, NAP_RATE - 1);
	assert_false(n.on);
	run(&n, &now, 10, 5, 0);
	assert_false(n.on);
}

// It ends within two milliseconds of silence, and one heap does not begin it.
static void test_changes(void **state)
{
	struct nap n = {0};
	uint64_t now = 1000000;

	run(&n, &now, 5, 5, NAP_RATE);
	assert_true(n.on);
	run(&n, &now, 2, 5, 0);
	nap_see(&n, now, 0);
	assert_false(n.on);
	nap_see(&n, now + 100, 0); // slept in epoll
	nap_see(&n, now + 100, 5 * NAP_RATE);
	nap_see(&n, now + 200, 0);
	assert_false(n.on);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_much),
		cmocka_unit_test(test_little),
		cmocka_unit_test(test_changes),
	};

	return cmocka_run_group_tests_name("nap", tests, NULL, NULL);
}
