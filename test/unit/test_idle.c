// SPDX-License-Identifier: BSD-3-Clause
// When an adaptive worker polls and when it sleeps, against a simulated clock of nanoseconds:
// whatever comes, no datagram waits for longer than the longest sleep, and the CPU is left alone
// where datagrams are far between.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "idle.h"

#define US 1000 // units of the clock
#define ROUND (US / 2) // of an empty round
#define WAKE (5 * US) // from the end of a sleep to the next round
#define SECOND (1000000 * US)

struct sim {
	struct idle idle;
	uint64_t now, next; // the next datagram
	uint64_t asleep, sleeps, longest; // time, number, the longest one asked for
	uint64_t latest; // the longest that a datagram waited
};

static struct sim start(uint32_t sleep_max_us)
{
	struct sim s = {.now = SECOND};

	s.idle = idle_init(s.now, US, sleep_max_us);
	return s;
}

// Runs for a time with so many datagrams every so often.
static void run(struct sim *s, uint64_t length, uint64_t every, unsigned int together)
{
	const uint64_t end = s->now + length;

	s->asleep = s->sleeps = s->longest = s->latest = 0;
	s->next = s->now + every;
	while (s->now < end) {
		const uint64_t begin = s->now;
		uint64_t n = 0, sleep;

		for (; s->next <= begin; s->next += every) {
			n += together;
			if (begin - s->next > s->latest)
				s->latest = begin - s->next;
		}
		sleep = idle_after(&s->idle, begin, n > 0, n);
		assert_true(n == 0 || sleep == 0);
		s->now += ROUND + sleep + (sleep > 0 ? WAKE : 0);
		s->asleep += sleep;
		s->sleeps += sleep > 0;
		if (sleep > s->longest)
			s->longest = sleep;
	}
}

static void test_silence(void **state)
{
	const uint32_t longest[] = {10, 50, 1000};

	for (unsigned int i = 0; i < 3; i++) {
		struct sim s = start(longest[i]);

		run(&s, SECOND, 2 * (uint64_t)SECOND, 1);
		assert_int_equal(s.longest, longest[i] * US);
		assert_int_equal(s.asleep, s.sleeps * longest[i] * US); // each of them
	}
}

// All that comes waits for a sleep and an empty round at most.
static void test_latency(void **state)
{
	const uint64_t every[] = {1, 3, 9, 11, 19, 21, 30, 49, 70, 100, 333, 1000, 20000};
	const uint32_t longest[] = {10, 50, 200, 1000};

	for (unsigned int k = 0; k < 4; k++) {
		for (unsigned int i = 0; i < sizeof(every) / sizeof(every[0]); i++) {
			struct sim s = start(longest[k]);

			run(&s, SECOND / 10, every[i] * US, 1);
			assert_in_range(s.latest, 0, longest[k] * US + ROUND + WAKE);
			assert_in_range(s.longest, 0, longest[k] * US);
		}
	}
}

// The CPU's share is what the gaps are worth.
static void test_share(void **state)
{
	struct sim s = start(50);

	run(&s, SECOND / 100, 5 * US, 1);
	run(&s, SECOND, 5 * US, 1); // 200,000 a second: no sleep would be over in time
	assert_int_equal(s.sleeps, 0);
	run(&s, SECOND / 100, 100 * US, 1);
	run(&s, SECOND, 100 * US, 1); // 10,000: two sleeps for each
	assert_in_range(s.sleeps, 10000, 20000);
	assert_true(s.asleep > (uint64_t)SECOND * 8 / 10);
	run(&s, SECOND / 100, 1000 * US, 1);
	run(&s, SECOND, 1000 * US, 1);
	assert_in_range(s.sleeps, 17000, 20000); // of 50 us
}

// Sleeps are as long as the gaps, within what is worth it and what is allowed.
static void test_length(void **state)
{
	static const struct {
		uint32_t every, max, shortest, longest;
	} t[] = {{25, 1000, 50, 50}, {25, 50, 50, 50}, {25, 20, 20, 20}, {200, 1000, 150, 200},
		{200, 100, 100, 100}, {2000, 1000, 1000, 1000}};

	(void)state;
	for (unsigned int i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct sim s = start(t[i].max);

		run(&s, SECOND, t[i].every * US, 1);
		run(&s, SECOND, t[i].every * US, 1);
		assert_in_range(s.asleep / s.sleeps, t[i].shortest * US, t[i].longest * US);
	}
}

// Polling for the next one ends when it does not come.
static void test_end_of_stream(void **state)
{
	struct sim s = start(50);
	uint64_t now;

	run(&s, SECOND / 10, 5 * US, 1);
	now = s.now;
	idle_after(&s.idle, now, true, 1);
	for (uint64_t after = ROUND; after < 20 * US; after += ROUND)
		assert_int_equal(idle_after(&s.idle, now + after, false, 0), 0);
	assert_int_equal(idle_after(&s.idle, now + 20 * US, false, 0), 50 * US);
	assert_int_equal(idle_after(&s.idle, now + SECOND, false, 0), 50 * US);
}

// After whatever silence a stream is noticed within some datagrams; so is its end.
static void test_changes(void **state)
{
	const uint32_t longest[] = {50, 1000};

	for (unsigned int i = 0; i < 2; i++) {
		struct sim s = start(longest[i]);

		run(&s, 10 * (uint64_t)SECOND, 20 * (uint64_t)SECOND, 1);
		run(&s, 20 * longest[i] * US, 5 * US, 1);
		run(&s, SECOND / 10, 5 * US, 1);
		assert_int_equal(s.sleeps, 0);
		run(&s, 50 * 500 * US, 500 * US, 1);
		run(&s, SECOND / 10, 500 * US, 1);
		assert_true(s.asleep > SECOND / 10 * 7 / 10);
	}
}

// Whatever comes, a saving worker sleeps as long as it may, and comes back for all of it at once.
static void test_saving(void **state)
{
	const uint64_t every[] = {1, 5, 19, 50, 1000};

	for (unsigned int i = 0; i < sizeof(every) / sizeof(every[0]); i++) {
		struct sim s = start(200);

		s.idle.saving = true;
		run(&s, SECOND / 10, every[i] * US, 1);
		assert_int_equal(s.longest, 200 * US);
		assert_int_equal(s.asleep, s.sleeps * 200 * US);
		assert_true(s.asleep > SECOND / 10 * 9 / 10);
		assert_in_range(s.latest, 0, 200 * US + ROUND + WAKE);
	}
}

// What came together counts for as many.
static void test_bursts(void **state)
{
	struct sim s = start(50);

	run(&s, SECOND / 10, 400 * US, 2);
	assert_in_range(s.idle.gap, 150 * US, 200 * US);
	run(&s, SECOND / 10, 400 * US, 32);
	assert_in_range(s.idle.gap, 10 * US, 15 * US);
	assert_true(s.asleep > SECOND / 10 / 2); // polls for 20 us behind a burst, and then sleeps
}

// Work that is no datagram (requests that wait, expiry) keeps it awake and says nothing of gaps.
static void test_other_work(void **state)
{
	struct sim s = start(50);
	const uint64_t gap = s.idle.gap;

	for (unsigned int i = 0; i < 1000; i++)
		assert_int_equal(idle_after(&s.idle, s.now + i * ROUND, true, 0), 0);
	assert_int_equal(s.idle.gap, gap);
	assert_int_equal(idle_after(&s.idle, s.now + 1000 * ROUND, false, 0), 50 * US);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_silence),
		cmocka_unit_test(test_latency),
		cmocka_unit_test(test_share),
		cmocka_unit_test(test_length),
		cmocka_unit_test(test_end_of_stream),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_saving),
		cmocka_unit_test(test_bursts),
		cmocka_unit_test(test_other_work),
	};

	return cmocka_run_group_tests_name("idle", tests, NULL, NULL);
}
