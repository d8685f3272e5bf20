// SPDX-License-Identifier: BSD-3-Clause
// Events get times of day in their order, whenever they are taken, and these follow the clock.
#include "records/event_time.h"
#include "test.h"

#define WALL_US UINT64_C(1795000000000700) // a millisecond began 700 us before
#define CLOCK_US UINT64_C(5000000)

// The time of an event that is taken later_us microseconds later.
static uint64_t wall_of(struct event_time *t, uint64_t at_ms, uint64_t later_us)
{
	return event_time_wall(t, at_ms, (CLOCK_US + later_us) / 1000, (WALL_US + later_us) / 1000);
}

// Two events of equal or adjacent milliseconds, taken at any moments one after the other.
static void test_order(void **state)
{
	for (uint64_t first = 0; first < 3000; first += 50)
		for (uint64_t second = first; second < first + 3000; second += 50) {
			struct event_time t = {0};
			const uint64_t a = wall_of(&t, 4990, first);

			assert_int_equal(wall_of(&t, 4990, second), a);
			assert_int_equal(wall_of(&t, 4991, second), a + 1);
		}
}

static void test_near(void **state)
{
	struct event_time t = {0};
	const uint64_t wall = wall_of(&t, 4000, 0);

	assert_in_range(wall, WALL_US / 1000 - 1001, WALL_US / 1000 - 999);
	assert_in_range(wall_of(&t, 9000, 0), WALL_US / 1000 - 1, WALL_US / 1000 + 1); // not yet
}

// The operator sets the clock; and it drifts from the other clock.
static void test_clock_set(void **state)
{
	struct event_time t = {0};

	wall_of(&t, 4990, 0);
	for (int64_t step = -3600000; step <= 3600000; step += 7200000)
		assert_int_equal(event_time_wall(&t, 4990, 5000, WALL_US / 1000 + (uint64_t)step),
			WALL_US / 1000 + (uint64_t)step - 10);
	for (uint64_t i = 0; i < 100; i++)
		assert_in_range(event_time_wall(&t, 5000, 5000, WALL_US / 1000 + i),
			WALL_US / 1000 + i - 2, WALL_US / 1000 + i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_near),
		cmocka_unit_test(test_clock_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
