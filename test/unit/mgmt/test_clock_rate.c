// SPDX-License-Identifier: BSD-3-Clause
// The workers' clock against the system's: a different rate is reported, and nothing else.
#include <string.h>

#include "test.h"
#include "watch/clock_rate.h"

#define TICK_MS 100
#define MINUTE 600 // ticks

// Two clocks; that of the workers runs some thousandths faster.
static struct clocks {
	struct clock_rate rate;
	uint64_t worker_us, system_ms;
} c;

// Runs them for `ticks`. Returns the number of reports.
static unsigned int run(int faster, unsigned int ticks)
{
	unsigned int n = 0;

	while (ticks-- > 0) {
		c.system_ms += TICK_MS;
		c.worker_us += (uint64_t)(TICK_MS * (1000 + faster));
		n += clock_rate_look(&c.rate, c.worker_us / 1000, c.system_ms);
	}
	return n;
}

static int begin(void **state)
{
	c = (struct clocks){.worker_us = 1000000, .system_ms = 77777777};
	return 0;
}

static void test_another_rate_is_told_once(void **state)
{
	for (int faster = -500; faster <= 900; faster += 20) {
		if (faster > -20 && faster < 20)
			continue;
		begin(NULL);
		assert_int_equal(run(0, MINUTE), 0);
		assert_int_equal(run(faster, MINUTE), 1);
		assert_in_range(c.rate.off + 1000, faster + 998, faster + 1002);
		assert_int_equal(run(faster, 10 * MINUTE), 0);
		assert_int_equal(run(0, MINUTE), 1);
		assert_int_equal(c.rate.off, 0);
	}
}

// NTP slews the clock, and a thread loses its CPU.
static void test_short_deviations_are_not_told(void **state)
{
	for (int faster = -19; faster <= 19; faster++) {
		begin(NULL);
		assert_int_equal(run(faster, 10 * MINUTE), 0);
	}
	for (int64_t jump_ms = -3600000; jump_ms <= 3600000; jump_ms += 7200000) {
		begin(NULL);
		c.worker_us += UINT64_C(7200000000);
		run(0, MINUTE);
		c.worker_us += (uint64_t)(jump_ms * 1000);
		assert_int_equal(run(0, MINUTE), 0);
		c.system_ms += 3600000; // the machine was suspended, or the counter was
		assert_int_equal(run(0, MINUTE), 0);
	}
}

static void test_words(void **state)
{
	char text[300];

	assert_false(clock_rate_trouble(text, sizeof(text)));
	for (uint64_t s = 0; s <= 60; s++)
		clock_rate_tick(1000 + s * 1031, 500 + s * 1000);
	assert_true(clock_rate_trouble(text, sizeof(text)));
	assert_non_null(strstr(text, "(TSC) is 3.1 % too fast"));
	for (uint64_t s = 61; s <= 120; s++)
		clock_rate_tick(1000 + 60 * 1031 + (s - 60) * 1000, 500 + s * 1000);
	assert_false(clock_rate_trouble(text, sizeof(text)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_another_rate_is_told_once, begin),
		cmocka_unit_test_setup(test_short_deviations_are_not_told, begin),
		cmocka_unit_test(test_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
