// SPDX-License-Identifier: BSD-3-Clause
// When an adaptive worker polls and when it sleeps, on a simulated clock of nanoseconds: with any
// traffic, no datagram waits longer than the longest sleep, and the CPU stays free where datagrams
// are rare and where a sleep costs much CPU.
#include "path/idle.h"
#include "test.h"

#define US 1000 // clock units per microsecond
#define ROUND (US / 2) // time of an empty round
#define WAKE (5 * US) // from the end of a sleep to the next round
#define SECOND (1000000 * US)

struct sim {
	struct idle idle;
	uint64_t now, next; // now, and when the next datagram comes
	uint64_t asleep, sleeps, longest; // total, number, longest one requested
	uint64_t latest; // the longest time that a datagram waited
	uint64_t cost; // CPU time of a sleep; 0: as on bare metal, and not measured
	uint64_t waits;
};

static struct sim start(uint32_t sleep_max_us)
{
	struct sim s = {.now = SECOND};

	s.idle = idle_init(s.now, US, sleep_max_us);
	return s;
}

// Length of the sleep after a round; 0: the worker polls.
static uint64_t sleep_after(struct idle *i, uint64_t now, bool busy, uint64_t datagrams)
{
	const struct idle_rest rest = idle_choose_rest(i, now, busy, datagrams);

	assert_int_equal(rest.state, rest.length > 0 ? IDLE_SLEEP : IDLE_POLL);
	return rest.length;
}

// Runs for `length`, with `together` datagrams at intervals of `every`.
static void run(struct sim *s, uint64_t length, uint64_t every, unsigned int together)
{
	const uint64_t end = s->now + length;

	s->asleep = s->sleeps = s->longest = s->latest = s->waits = 0;
	s->next = s->now + every;
	while (s->now < end) {
		const uint64_t begin = s->now;
		struct idle_rest rest;
		uint64_t n = 0, sleep;

		for (; s->next <= begin; s->next += every) {
			n += together;
			if (begin - s->next > s->latest)
				s->latest = begin - s->next;
		}
		rest = idle_choose_rest(&s->idle, begin, n > 0, n);
		sleep = rest.length;
		assert_true(n == 0 || rest.state == IDLE_POLL);
		assert_int_equal(sleep > 0, rest.state == IDLE_SLEEP);
		if (rest.state == IDLE_WAIT) { // until the next datagram
			assert_true(s->idle.wakes);
			s->waits++;
			s->now = s->next + (s->cost > 0 ? s->cost : WAKE);
			if (idle_measures_cost(&s->idle) && s->cost > 0)
				idle_learn_cost(&s->idle, s->cost);
			continue;
		}
		s->now += ROUND + sleep + (sleep > 0 ? s->cost > 0 ? s->cost : WAKE : 0);
		if (sleep > 0 && idle_measures_cost(&s->idle) && s->cost > 0)
			idle_learn_cost(&s->idle, s->cost);
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
		assert_int_equal(s.asleep, s.sleeps * longest[i] * US); // each is longest
	}
}

// Every datagram waits for one sleep and one empty round at most.
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

// The CPU's share of time depends on the gaps between datagrams.
static void test_share(void **state)
{
	struct sim s = start(50);

	run(&s, SECOND / 100, 5 * US, 1);
	run(&s, SECOND, 5 * US, 1); // 200,000 a second: a sleep would not end in time
	assert_int_equal(s.sleeps, 0);
	run(&s, SECOND / 100, 100 * US, 1);
	run(&s, SECOND, 100 * US, 1); // 10,000 a second: two sleeps for each datagram
	assert_in_range(s.sleeps, 10000, 20000);
	assert_true(s.asleep > (uint64_t)SECOND * 8 / 10);
	run(&s, SECOND / 100, 1000 * US, 1);
	run(&s, SECOND, 1000 * US, 1);
	assert_in_range(s.sleeps, 17000, 20000); // of 50 us
}

// Sleeps are as long as the gaps, if that saves CPU, up to the longest sleep allowed.
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

// Polling for the next datagram ends if it does not come.
static void test_end_of_stream(void **state)
{
	struct sim s = start(50);
	uint64_t now;

	run(&s, SECOND / 10, 5 * US, 1);
	now = s.now;
	sleep_after(&s.idle, now, true, 1);
	for (uint64_t after = ROUND; after < 20 * US; after += ROUND)
		assert_int_equal(sleep_after(&s.idle, now + after, false, 0), 0);
	assert_int_equal(sleep_after(&s.idle, now + 20 * US, false, 0), 50 * US);
	assert_int_equal(sleep_after(&s.idle, now + SECOND, false, 0), 50 * US);
}

// After any silence a stream is noticed within a few datagrams; so is its end.
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

// With any traffic a worker in `saving` mode takes the longest sleep, and then reads everything at
// once.
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

// Datagrams that came together count one by one.
static void test_bursts(void **state)
{
	struct sim s = start(50);

	run(&s, SECOND / 10, 400 * US, 2);
	assert_in_range(s.idle.gap, 150 * US, 200 * US);
	run(&s, SECOND / 10, 400 * US, 32);
	assert_in_range(s.idle.gap, 10 * US, 15 * US);
	assert_true(s.asleep > SECOND / 10 / 2); // polls for 20 us after a burst, and then sleeps
}

// Work other than datagrams (waiting requests, expiry) keeps a worker awake, and does not change
// the measured gaps.
static void test_other_work(void **state)
{
	struct sim s = start(50);
	const uint64_t gap = s.idle.gap;

	for (unsigned int i = 0; i < 1000; i++)
		assert_int_equal(sleep_after(&s.idle, s.now + i * ROUND, true, 0), 0);
	assert_int_equal(s.idle.gap, gap);
	assert_int_equal(sleep_after(&s.idle, s.now + 1000 * ROUND, false, 0), 50 * US);
}

// Length of the sleep of a worker with nothing to do.
static uint64_t shortest(struct idle i)
{
	i.gap = i.spin; // the gap of the slowest stream that is worth polling for
	return sleep_after(&i, i.worked + SECOND, false, 0);
}

static void learn(struct idle *i, uint64_t cost, unsigned int times)
{
	for (unsigned int n = 0; n < times; n++)
		idle_learn_cost(i, cost);
}

// The first sleeps are measured, so that the cost is known soon; later only a few are: it takes a
// system call.
static void test_measures(void **state)
{
	struct sim s = start(0);
	unsigned int first = 0, later = 0;

	for (unsigned int i = 0; i < 20; i++)
		first += idle_measures_cost(&s.idle);
	for (unsigned int i = 0; i < 6400; i++)
		later += idle_measures_cost(&s.idle);
	assert_in_range(first, 8, 20);
	assert_int_equal(later, 100);
}

// After 20 sleeps, ten times the cost; never longer than allowed, and 250 us without a configured
// limit.
static void test_cost_learned(void **state)
{
	static const struct {
		uint32_t max, cost, sleep;
	} t[] = {{0, 1, 50}, {0, 5, 50}, {0, 12, 120}, {0, 24, 240}, {0, 49, 250}, {0, 200, 250},
		{1000, 24, 240}, {1000, 200, 1000}, {100, 24, 100}, {50, 49, 50}, {10, 49, 10}};

	for (unsigned int i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct sim s = start(t[i].max);

		s.cost = t[i].cost * US;
		while (s.idle.cost.sleeps < 20)
			run(&s, 50 * US, SECOND, 1);
		assert_in_range(shortest(s.idle), t[i].sleep * US * 9 / 10, t[i].sleep * US);
	}
}

// The bounds hold at every moment, with any measurements.
static void test_cost_bounds(void **state)
{
	const uint32_t longest[] = {10, 50, 200, 1000};
	const uint64_t cost[] = {0, 1, 3 * US, 40 * US, SECOND, 60 * US, UINT64_MAX, 0};

	for (unsigned int k = 0; k < 4; k++) {
		const uint64_t least = longest[k] < IDLE_SLEEP_US ? longest[k] : IDLE_SLEEP_US;
		struct sim s = start(longest[k]);

		for (unsigned int i = 0; i < 50 * sizeof(cost) / sizeof(cost[0]); i++) {
			idle_learn_cost(&s.idle, cost[i / 50]);
			assert_in_range(shortest(s.idle), least * US, longest[k] * US);
			assert_in_range(s.idle.spin, 0, IDLE_SPIN_US * US);
		}
		learn(&s.idle, 4 * US, 40);
		assert_int_equal(shortest(s.idle), least * US);
		assert_int_equal(s.idle.spin, IDLE_SPIN_US * US);
		learn(&s.idle, 0, 100);
		learn(&s.idle, 40 * US, 40); // a cost can be unlearned
		assert_in_range(s.idle.spin, 2 * US, 3 * US);
	}
}

// One measurement in ten is far off, and so is the first: the others decide, and bare metal is
// still recognized.
static void test_cost_outliers(void **state)
{
	const uint64_t off[] = {0, 2000 * US, SECOND};

	for (unsigned int i = 0; i < 3; i++) {
		struct sim s = start(0), iron = start(0);

		for (unsigned int n = 0; n < 1000; n++) {
			idle_learn_cost(&s.idle, n % 10 == 0 ? off[i] : 24 * US);
			if (n >= 20)
				assert_in_range(shortest(s.idle), 170 * US, 250 * US);
			idle_learn_cost(&iron.idle, n % 10 == 0 ? off[i] : 3 * US);
			if (n >= 5)
				assert_int_equal(shortest(iron.idle), IDLE_SLEEP_US * US);
		}
	}
}

// Where sleeps are cheap, the worker behaves as if it had not measured them.
static void test_cost_cheap(void **state)
{
	const uint64_t every[] = {1, 5, 15, 19, 21, 49, 100, 333, 5000};
	const uint32_t longest[] = {0, 10, 50, 1000};

	for (unsigned int k = 0; k < 4; k++) {
		for (unsigned int i = 0; i < sizeof(every) / sizeof(every[0]); i++) {
			struct sim s = start(longest[k]);
			struct sim plain = start(longest[k] > 0 ? longest[k] : 50);

			s.cost = WAKE; // equal times pass in both
			run(&s, SECOND / 10, every[i] * US, 1);
			run(&plain, SECOND / 10, every[i] * US, 1);
			assert_int_equal(s.sleeps, plain.sleeps);
			assert_int_equal(s.asleep, plain.asleep);
			assert_int_equal(s.latest, plain.latest);
		}
	}
}

// Where sleeps are costly, a worker leaves most of its CPU free at moderate rates, and is still no
// later than the longest sleep. With a limit of 50 us it is no later than 50 us.
static void test_cost_share(void **state)
{
	const uint64_t every[] = {12, 15, 20, 25, 50, 100, 1000}, cost[] = {24 * US, 49 * US};
	const uint32_t longest[] = {0, 50};

	for (unsigned int i = 0; i < sizeof(every) / sizeof(every[0]); i++) {
		for (unsigned int k = 0; k < 4; k++) {
			const uint32_t most = longest[k / 2] > 0 ? longest[k / 2] : IDLE_COSTLY_US;
			struct sim s = start(longest[k / 2]);

			s.cost = cost[k % 2];
			run(&s, SECOND / 10, every[i] * US, 1);
			run(&s, SECOND, every[i] * US, 1);
			assert_in_range(s.latest, 0, most * US + ROUND + s.cost);
			assert_true(s.asleep > (uint64_t)SECOND *
					(k == 0                  ? 88
							: k == 1 ? 80
								 : 45) /
					100);
		}
	}
}

// There, too, a worker polls for a stream that is faster.
static void test_cost_flood(void **state)
{
	struct sim s = start(0);

	s.cost = 24 * US;
	run(&s, SECOND / 10, SECOND, 1);
	run(&s, SECOND / 100, 2 * US, 1);
	run(&s, SECOND / 10, 2 * US, 1);
	assert_int_equal(s.sleeps, 0);
}

// Costs do not matter in `saving` mode: a worker sleeps as configured, and 50 us by default.
static void test_cost_saving(void **state)
{
	const uint32_t longest[] = {0, 10, 200};

	for (unsigned int i = 0; i < 3; i++) {
		struct sim s = start(longest[i]);

		s.idle.saving = true;
		s.cost = 49 * US;
		run(&s, SECOND / 10, 100 * US, 1);
		assert_int_equal(s.longest, (i == 0 ? 50 : longest[i]) * US);
		assert_int_equal(s.asleep, s.sleeps * s.longest);
	}
}

static struct sim woken(uint32_t sleep_max_us, bool saving, uint64_t cost)
{
	struct sim s = start(sleep_max_us);

	s.idle.wakes = true;
	s.idle.saving = saving;
	s.cost = cost;
	return s;
}

// Where ports wake and datagrams are rare, each datagram is a wait: nothing is late, whatever a
// sleep costs.
static void test_woken(void **state)
{
	const uint64_t every[] = {40, 70, 100, 333, 1000, 20000}, cost[] = {0, 24 * US, 30 * US};
	const uint32_t longest[] = {0, 50, 1000};

	for (unsigned int k = 0; k < 9; k++) {
		for (unsigned int i = 0; i < sizeof(every) / sizeof(every[0]); i++) {
			struct sim s = woken(longest[k / 3], false, cost[k % 3]);
			const uint64_t late = s.cost > 0 ? s.cost : (uint64_t)WAKE;

			run(&s, SECOND / 10, every[i] * US, 1);
			run(&s, SECOND, every[i] * US, 1);
			assert_int_equal(s.sleeps, 0);
			assert_in_range(s.latest, 0, late + ROUND);
			assert_in_range(s.waits, 900000 / every[i] - 2, 1000000 / every[i] + 2);
		}
	}
}

// In a silence the worker waits; it requests no sleep.
static void test_woken_silence(void **state)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct sim s = woken(0, i == 1, 24 * US);

		run(&s, SECOND, 2 * (uint64_t)SECOND, 1);
		assert_in_range(s.sleeps, 0, 1); // it knows no gaps yet
		assert_int_equal(s.waits, 1);
		assert_in_range(idle_sleep_length(&s.idle), 50 * US, 250 * US); // if it cannot wait
	}
}

// Where datagrams are frequent it polls, or sleeps if that saves CPU, as if ports woke nobody.
static void test_woken_flood(void **state)
{
	const uint64_t every[] = {1, 2, 3, 8, 12};

	for (unsigned int i = 0; i < sizeof(every) / sizeof(every[0]); i++) {
		struct sim s = woken(0, false, 24 * US), plain = start(0);

		plain.cost = 24 * US;
		run(&s, SECOND / 10, 1000 * US, 1); // it has learnt the cost of a sleep
		run(&plain, SECOND / 10, 1000 * US, 1);
		run(&s, SECOND / 10, every[i] * US, 1);
		run(&plain, SECOND / 10, every[i] * US, 1);
		run(&s, SECOND, every[i] * US, 1);
		run(&plain, SECOND, every[i] * US, 1);
		assert_in_range(s.waits, 0, 20);
		assert_in_range(s.sleeps, plain.sleeps * 98 / 100, plain.sleeps * 102 / 100);
		assert_in_range(s.latest, 0, (IDLE_COSTLY_US + 1) * US + s.cost);
	}
}

// At the end of a stream there is one useless sleep, or the rest of its polling, and then it waits.
static void test_woken_end_of_stream(void **state)
{
	const uint64_t every[] = {2, 10};

	for (unsigned int i = 0; i < 2; i++) {
		struct sim s = woken(0, i == 1, 24 * US);

		run(&s, SECOND / 10, every[i] * US, 1);
		run(&s, SECOND, 2 * (uint64_t)SECOND, 1);
		assert_in_range(s.sleeps, 0, 2);
		assert_int_equal(s.waits, 1);
	}
}

// In `saving` mode a worker lets datagrams gather, no longer than configured: 1000 us by default,
// and at most 64 of them.
static void test_woken_saving(void **state)
{
	static const struct {
		uint32_t told, every, sleep;
	} t[] = {{0, 5, 320}, {0, 10, 640}, {0, 20, 1000}, {0, 100, 1000}, {0, 400, 1000},
		{0, 800, 0}, {0, 5000, 0}, {1000, 5, 1000}, {1000, 400, 1000}, {1000, 800, 0},
		{200, 50, 200}, {200, 180, 0}};

	for (unsigned int i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct sim s = woken(t[i].told, true, 24 * US);

		run(&s, SECOND / 10, t[i].every * US, 1);
		run(&s, SECOND, t[i].every * US, 1);
		if (t[i].sleep == 0) {
			assert_in_range(s.sleeps, 0, 20); // before it knows the gaps
			assert_in_range(s.latest, 0, s.longest + s.cost + ROUND);
			continue;
		}
		assert_in_range(s.asleep / s.sleeps, t[i].sleep * US * 95 / 100,
			t[i].sleep * US * 105 / 100);
		assert_in_range(s.waits, 0, 20);
		assert_in_range(s.latest, 0, s.longest + s.cost + ROUND);
	}
}

// Runs with messages of streams among the datagrams, as reported to idle_count_messages and
// idle_choose_rest.
static void run_streamed(
	struct sim *s, uint64_t length, uint64_t every, bool threads, unsigned int *dozes)
{
	const uint64_t end = s->now + length;

	s->next = s->now + every;
	s->waits = *dozes = 0;
	while (s->now < end) {
		const uint64_t begin = s->now;
		struct idle_rest rest;
		uint64_t n = 0, sleep;

		for (; s->next <= begin; s->next += every)
			n++;
		if (n > 0)
			idle_count_messages(&s->idle, begin, n, threads);
		rest = idle_choose_rest(&s->idle, begin, n > 0, n);
		sleep = rest.length;
		if (rest.state == IDLE_WAIT) {
			s->waits++;
			s->now = s->next + WAKE;
			continue;
		}
		assert_true(rest.state == IDLE_POLL || sleep > 0);
		*dozes += rest.state == IDLE_DOZE;
		s->longest = rest.state == IDLE_DOZE ? sleep : s->longest;
		s->now += ROUND + sleep + (sleep > 0 ? WAKE : 0);
	}
}

// Where clients over streams send enough, a worker that would be woken for each message dozes, for
// 25 times the cost of a wake until a thread should end the doze, and up to as long again; with
// DTLS alone for 20 times. If messages are rare it waits, and in a silence, too.
static void test_streamed(void **state)
{
	static const struct {
		uint32_t told, cost, every, doze; // us
		bool threads;
	} t[] = {{0, 1, 40, 250, true}, {0, 5, 40, 250, true}, {0, 8, 40, 400, true},
		{0, 8, 70, 400, true}, {0, 24, 40, 500, true}, {100, 24, 20, 100, true},
		{0, 5, 80, 0, true}, {0, 24, 300, 0, true}, {0, 24, 5000, 0, true},
		{0, 8, 22, 160, false}, {0, 8, 100, 0, false}, {0, 24, 40, 250, false},
		{100, 24, 20, 100, false}, {0, 24, 300, 0, false}};

	for (unsigned int i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct sim s = woken(t[i].told, false, 0);
		unsigned int dozes;

		for (unsigned int k = 0; k < 60; k++)
			idle_learn_cost(&s.idle, t[i].cost * US);
		run_streamed(&s, SECOND / 10, t[i].every * US, t[i].threads, &dozes);
		run_streamed(&s, SECOND, t[i].every * US, t[i].threads, &dozes);
		if (t[i].doze == 0) {
			assert_int_equal(dozes, 0);
			assert_true(s.waits > 0);
			continue;
		}
		assert_in_range(s.waits, 0, 10); // the second starts late
		assert_true(dozes > 1000);
		assert_in_range(s.longest, t[i].doze * US * 95 / 100, t[i].doze * US);
		run_streamed(&s, SECOND, 2 * (uint64_t)SECOND, t[i].threads, &dozes);
		assert_in_range(dozes, 0, 1);
		assert_int_equal(s.waits, 1);
	}
}

// Other workers poll or sleep as usual: a worker in `saving` mode, and a worker whose ports wake
// nobody.
static void test_streamed_otherwise(void **state)
{
	for (unsigned int i = 0; i < 3; i++) {
		struct sim s = i == 0 ? start(0) : woken(0, i == 1, 0);
		unsigned int dozes;

		run_streamed(&s, SECOND, i == 2 ? US : 40 * US, true, &dozes);
		assert_in_range(dozes, 0, i == 2); // before it knows the gaps
	}
}

// A worker does not poll between such messages, however frequent they are: it receives them during
// a doze. Where few of the datagrams are such messages it polls as usual.
static void test_streamed_closely(void **state)
{
	static const struct {
		uint32_t every, others; // us
		bool polls;
	} t[] = {{4, 4, false}, {1, 1, true}, {12, 12, false}, {16, 10, false}, {40, 5, true}};

	for (unsigned int i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct idle idle = woken(0, false, 0).idle;
		const uint64_t now = idle.worked + SECOND;

		for (unsigned int k = 0; k < 100; k++) {
			idle_count_messages(&idle, now + k * t[i].every * US, 1, true);
			idle_choose_rest(&idle, now + k * t[i].others * US, true, 1);
		}
		idle.worked = idle.streamed = idle.threaded = now;
		assert_true(t[i].others * US < idle.spin);
		assert_int_equal(idle_choose_rest(&idle, now + US, false, 0).state,
			t[i].polls ? IDLE_POLL : IDLE_DOZE);
	}
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
		cmocka_unit_test(test_measures),
		cmocka_unit_test(test_cost_learned),
		cmocka_unit_test(test_cost_bounds),
		cmocka_unit_test(test_cost_outliers),
		cmocka_unit_test(test_cost_cheap),
		cmocka_unit_test(test_cost_share),
		cmocka_unit_test(test_cost_flood),
		cmocka_unit_test(test_cost_saving),
		cmocka_unit_test(test_woken),
		cmocka_unit_test(test_woken_silence),
		cmocka_unit_test(test_woken_flood),
		cmocka_unit_test(test_woken_end_of_stream),
		cmocka_unit_test(test_woken_saving),
		cmocka_unit_test(test_streamed),
		cmocka_unit_test(test_streamed_otherwise),
		cmocka_unit_test(test_streamed_closely),
	};

	return cmocka_run_group_tests_name("idle", tests, NULL, NULL);
}
