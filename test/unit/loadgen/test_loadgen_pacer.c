// SPDX-License-Identifier: BSD-3-Clause
// The pacer: how many packets are due at any time, over hours and changes of rate, and which are
// skipped when it is late.
#include <stdbool.h>

#include "measure/pacer.h"
#include "test.h"
#include "test_rand.h"

#define HZ 2596000000ull // of a machine that runs the generator
#define HOUR (3600 * HZ)

static struct pacer pacer;

// Round numbers: 1000 ticks a second, a packet every 10 of them.
static void test_schedule(void **state)
{
	pacer_start(&pacer, 5000, 1000, 100, 0.05);
	assert_int_equal(pacer_due(&pacer, 4990, 32), 0); // not before the start
	assert_int_equal(pacer_due(&pacer, 5000, 32), 1); // packet 0
	assert_int_equal(pacer_due(&pacer, 5000, 32), 0);
	assert_int_equal(pacer_due(&pacer, 5009, 32), 0);
	assert_int_equal(pacer_due(&pacer, 5010, 32), 1);
	assert_int_equal(pacer_due(&pacer, 5039, 32), 2);
	assert_int_equal(pacer_due(&pacer, 5020, 32), 0); // a clock that steps back
	assert_int_equal(pacer_due(&pacer, 5040, 32), 1);
	assert_int_equal(pacer_due(&pacer, 5070, 2), 2); // the caller takes no more per call
	assert_int_equal(pacer_due(&pacer, 5070, 2), 1);
	assert_int_equal(pacer.done, 8);
	assert_int_equal(pacer.missed, 0);
}

// Packets up to 50 ms late are sent, later ones are skipped, the oldest first.
static void test_slack(void **state)
{
	pacer_start(&pacer, 0, 1000, 100, 0.05);
	assert_int_equal(pacer_due(&pacer, 50, 100), 6); // 0 is 50 ms late, 5 is due now
	assert_int_equal(pacer.missed, 0);
	assert_int_equal(pacer_due(&pacer, 119, 100), 6); // 6 is 59 ms late, 11 is the latest
	assert_int_equal(pacer.missed, 0);
	assert_int_equal(pacer_due(&pacer, 180, 100), 6); // 12 is 60 ms late, 13 is 50
	assert_int_equal(pacer.missed, 1);
	assert_int_equal(pacer_due(&pacer, 10180, 100), 6);
	assert_int_equal(pacer.missed, 1 + 994);
	assert_int_equal(pacer.done, 1019);
	// one packet is sent however late it is
	pacer_start(&pacer, 0, 1000, 1, 0.05);
	assert_int_equal(pacer_due(&pacer, 900, 10), 1);
	assert_int_equal(pacer_due(&pacer, 5900, 10), 1);
	assert_int_equal(pacer.missed, 4);
	// an infinite slack, and an invalid one
	pacer_start(&pacer, 0, 1000, 100, 1e300);
	assert_int_equal(pacer_due(&pacer, 1000000, 1u << 30), 100001);
	pacer_start(&pacer, 0, 1000, 100, -1);
	assert_int_equal(pacer_due(&pacer, 1000000, 1u << 30), 1);
	assert_int_equal(pacer.missed, 100000);
}

static void test_flood(void **state)
{
	static const double rates[] = {PACER_FLOOD, -5};

	for (int i = 0; i < 2; i++) {
		pacer_start(&pacer, 100, HZ, rates[i], 0.001);
		assert_int_equal(pacer_due(&pacer, 99, 32), 0);
		for (uint64_t now = 100; now < 10000; now += 7)
			assert_int_equal(pacer_due(&pacer, now, 32), 32);
		assert_int_equal(pacer_due(&pacer, 10000, 0), 0);
		assert_int_equal(pacer.missed, 0);
		assert_int_equal(pacer.done, 32 * 1415);
	}
}

// One packet per tick, and faster: never more than the clock can distinguish.
static void test_extremes(void **state)
{
	pacer_start(&pacer, 0, 1000, 5000, 1e9);
	assert_in_range(pacer_due(&pacer, 1000000, UINT32_MAX), 999999, 1000001);
	pacer_start(&pacer, 0, HZ, 1e-12, 0); // one packet in 30,000 years is not a flood
	assert_int_equal(pacer_due(&pacer, 0, 32), 1);
	assert_int_equal(pacer_due(&pacer, HOUR, 32), 0);
	pacer_start(&pacer, UINT64_MAX - 500, 1000, 100, 10); // the counter wraps around
	assert_int_equal(pacer_due(&pacer, UINT64_MAX - 500, 100), 1);
	assert_int_equal(pacer_due(&pacer, 499, 200), 100);
}

// count is the number of packets due by ticks, including packet 0, in integer arithmetic (rate is
// an integer). A packet may come a tick and a thousandth of the interval before or after its time.
static void assert_on_schedule(uint64_t count, uint64_t rate, uint64_t ticks)
{
	const unsigned __int128 due = (unsigned __int128)ticks * rate;
	const uint64_t error = rate + HZ / 1000;

	assert_true((unsigned __int128)count * HZ <= due + HZ + error);
	assert_true((unsigned __int128)count * HZ + error > due);
}

// Ten hours of calls at irregular times, some of them seconds apart: done always keeps to the rate,
// and done = sent + missed.
static void test_exact_for_hours(void **state)
{
	static const uint64_t rates[] = {1, 3, 50, 997, 48000, 340000, 1000003, 9999991, 10000000};
	struct test_rand r = test_rand_start("pacer");

	for (size_t k = 0; k < sizeof(rates) / sizeof(rates[0]); k++) {
		const uint64_t start = test_rand(&r) >> 2;
		uint64_t ticks = 0, sent = 0;

		pacer_start(&pacer, start, HZ, (double)rates[k], 0.001);
		while (ticks < 10 * HOUR) {
			const uint32_t n = pacer_due(&pacer, start + ticks, UINT32_MAX);

			sent += n;
			assert_true(n <= rates[k] / 1000 + 1);
			assert_int_equal(pacer.done, sent + pacer.missed);
			assert_on_schedule(pacer.done, rates[k], ticks);
			ticks += 1 + (test_rand(&r) >> (28 + test_rand_below(&r, 20)));
		}
		assert_true(pacer.missed > 0 || rates[k] < 3);
	}
}

// Called every 10 us, no packet is missed, and the number sent is within a packet of the rate.
static void test_steady(void **state)
{
	static const uint64_t rates[] = {1, 1000, 777777, 3000000, 10000000};

	for (size_t k = 0; k < sizeof(rates) / sizeof(rates[0]); k++) {
		uint64_t sent = 0, now;

		pacer_start(&pacer, 1000, HZ, (double)rates[k], 0.0005);
		for (now = 0; now < 20 * HZ; now += 25960) {
			uint32_t n;

			do {
				n = pacer_due(&pacer, 1000 + now, 32);
				sent += n;
			} while (n == 32);
		}
		assert_int_equal(pacer.missed, 0);
		assert_int_equal(pacer.done, sent);
		assert_on_schedule(sent, rates[k], now - 25960);
	}
}

// No packet is sent before its time, nor later than the slack, nor skipped within it.
static void test_each_packet(void **state)
{
	struct test_rand r = test_rand_start("each");
	const uint64_t hz = 1000000, rate = 30000, slack = 2000; // ticks are microseconds
	uint64_t now = 0;

	pacer_start(&pacer, 0, hz, (double)rate, 0.002);
	for (int i = 0; i < 100000; i++) {
		const uint64_t before = pacer.done, missed = pacer.missed;
		const uint32_t n = pacer_due(&pacer, now, 16);

		// packet p is due at p / rate, which is p * 100 / 3 us
		for (uint64_t p = before; p < before + pacer.missed - missed; p++)
			assert_true(p * 100 / 3 + slack <= now);
		for (uint64_t p = pacer.done - n; p < pacer.done; p++) {
			assert_true(p * 100 <= now * 3 + 2);
			assert_true((now - p * 100 / 3) <= slack + 34);
		}
		now += test_rand_below(&r, 100) == 0 ? test_rand_below(&r, 10000)
						     : test_rand_below(&r, 500);
	}
	assert_true(pacer.missed > 0);
}

// Changes of rate: the packets since the start are the integral of the rate.
static void test_rate_changes(void **state)
{
	struct test_rand r = test_rand_start("changes");
	uint64_t now = 1 << 20, sent = 0;
	double due = 0, rate = 1000;

	pacer_start(&pacer, now, HZ, rate, 0.01);
	sent += pacer_due(&pacer, now, 32);
	for (int change = 0; change < 2000; change++) {
		for (uint32_t i = test_rand_below(&r, 50); i > 0; i--) {
			const uint64_t step = test_rand_below(&r, 50000000);
			const uint64_t missed = pacer.missed;

			now += step;
			due += rate * (double)step / (double)HZ;
			sent += pacer_due(&pacer, now, UINT32_MAX);
			if (step < HZ / 100)
				assert_int_equal(pacer.missed, missed);
			assert_int_equal(pacer.done, sent + pacer.missed);
			assert_true((double)pacer.done <= due + 1.001);
			assert_true((double)pacer.done >= due - 0.001);
		}
		rate = 1 + (double)test_rand_below(&r, 1u << test_rand_below(&r, 24));
		pacer_set_rate(&pacer, now, HZ, rate, 0.01);
		assert_int_equal(pacer_due(&pacer, now, UINT32_MAX), 0); // not by the change itself
	}
}

static void test_change_cases(void **state)
{
	// overdue packets remain due, within the new slack
	pacer_start(&pacer, 0, 1000, 100, 1);
	pacer_set_rate(&pacer, 95, 1000, 10, 1); // halfway to packet 10
	assert_int_equal(pacer_due(&pacer, 95, 4), 4);
	assert_int_equal(pacer_due(&pacer, 95, 100), 6);
	assert_int_equal(pacer_due(&pacer, 144, 100), 0);
	assert_int_equal(pacer_due(&pacer, 146, 100), 1); // the other half at the new rate
	pacer_set_rate(&pacer, 1146, 1000, 100, 0);
	assert_int_equal(pacer_due(&pacer, 1146, 100), 1);
	assert_int_equal(pacer.missed, 9);
	// flood and back
	pacer_set_rate(&pacer, 1146, 1000, PACER_FLOOD, 0);
	assert_int_equal(pacer_due(&pacer, 1146, 100), 100);
	pacer_set_rate(&pacer, 2000, 1000, 100, 0.5);
	assert_int_equal(pacer_due(&pacer, 2009, 100), 0);
	assert_int_equal(pacer_due(&pacer, 2010, 100), 1);
	assert_int_equal(pacer.missed, 9);
	assert_int_equal(pacer.done, 11 + 1 + 8 + 1 + 100 + 1);
	// before the start
	pacer_start(&pacer, 1000, 1000, 10, 1);
	pacer_set_rate(&pacer, 500, 1000, 100, 1);
	assert_int_equal(pacer_due(&pacer, 999, 100), 0);
	assert_int_equal(pacer_due(&pacer, 1010, 100), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_schedule),
		cmocka_unit_test(test_slack),
		cmocka_unit_test(test_flood),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_exact_for_hours),
		cmocka_unit_test(test_steady),
		cmocka_unit_test(test_each_packet),
		cmocka_unit_test(test_rate_changes),
		cmocka_unit_test(test_change_cases),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
