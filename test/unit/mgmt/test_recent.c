// SPDX-License-Identifier: BSD-3-Clause
// The newest events for those who watch: in order, once each, and a slow reader is told its loss.
#include "events/recent.h"
#include "test.h"

static struct recent recent;
static struct record out[RECENT];

static void put(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		const struct record r = {.wall_ms = recent.nb};

		recent_put(&recent, &r);
	}
}

static void assert_taken(uint64_t *next, unsigned int max, unsigned int n, uint64_t lost)
{
	uint64_t gone = 0;

	assert_int_equal(recent_take(&recent, next, &gone, out, max), n);
	assert_int_equal(gone, lost);
	for (unsigned int i = 0; i < n; i++)
		assert_int_equal(out[i].wall_ms, *next - n + i);
}

static void test_in_order(void **state)
{
	uint64_t next = UINT64_MAX;

	recent.nb = 0;
	put(3);
	assert_taken(&next, 10, 0, 0); // begins with the next event
	assert_int_equal(next, 3);
	put(5);
	assert_taken(&next, 4, 4, 0);
	assert_taken(&next, 4, 1, 0);
	assert_taken(&next, 4, 0, 0);
}

static void test_slow(void **state)
{
	uint64_t slow = 0, fast = 0;

	recent.nb = 0;
	put(RECENT);
	assert_taken(&fast, RECENT, RECENT, 0);
	put(RECENT / 2);
	assert_taken(&slow, 10, 10, RECENT / 2);
	put(20);
	assert_taken(&slow, RECENT, RECENT, 10);
	assert_taken(&fast, RECENT, RECENT / 2 + 20, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_order),
		cmocka_unit_test(test_slow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
