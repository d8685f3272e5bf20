// SPDX-License-Identifier: BSD-3-Clause
// Judging whether a thread hangs: from its own CPU time and the watchdog's, never from time in
// which either could not run.
#include "test.h"
#include "watch/watch_judge.h"

#define MS UINT64_C(1000000)
#define TICK (25 * MS)

static struct watch_judge judge;
static uint64_t cpu;

static int fresh(void **state)
{
	judge = (struct watch_judge){.progress = 7};
	cpu = 0;
	return 0;
}

// Runs n ticks in which the thread uses cpu_each of CPU time; late: the ticks come late.
static void ticks(unsigned int n, struct watch_sample s, uint64_t cpu_each, bool late)
{
	for (unsigned int i = 0; i < n; i++) {
		cpu += cpu_each;
		s.cpu_ns = cpu;
		watch_judge_tick(&judge, &s, TICK, late);
	}
}

static const struct watch_sample runs = {.progress = 7, .state = 'R'};

static void test_endless_loop(void **state)
{
	ticks(8, runs, TICK, false);
	assert_int_equal(judge.stalled_ns, 200 * MS);
}

static void test_progress_forgets(void **state)
{
	struct watch_sample s = runs;

	ticks(7, s, TICK, false);
	s.progress = 8;
	ticks(1, s, TICK, false);
	assert_int_equal(judge.stalled_ns, 0);
	ticks(3, s, TICK, false);
	assert_int_equal(judge.stalled_ns, 75 * MS);
}

// Ready to run for an hour, without getting a CPU.
static void test_starved(void **state)
{
	ticks(4 * 3600, runs, 0, false);
	assert_int_equal(judge.stalled_ns, 0);
}

// Two threads that share a CPU take twice as long to count as hanging.
static void test_half_a_cpu(void **state)
{
	ticks(16, runs, TICK / 2, false);
	assert_int_equal(judge.stalled_ns, 200 * MS);
}

// A jump of the clock counts as one tick at most.
static void test_clock_jumps(void **state)
{
	ticks(1, runs, 3600000 * MS, false);
	assert_int_equal(judge.stalled_ns, TICK);
}

static void test_machine_stood_still(void **state)
{
	ticks(100, runs, TICK, true);
	assert_int_equal(judge.stalled_ns, 0);
	assert_true(watch_judge_late(3000 * MS, TICK));
	assert_true(watch_judge_late(2 * TICK + 1, TICK));
	assert_false(watch_judge_late(2 * TICK, TICK));
}

// Late ticks do not count, and reset nothing.
static void test_full_machine(void **state)
{
	for (unsigned int i = 0; i < 8; i++) {
		ticks(1, runs, TICK, false);
		ticks(5, runs, TICK, true);
	}
	assert_int_equal(judge.stalled_ns, 200 * MS);
}

static void test_waits(void **state)
{
	struct watch_sample s = {.progress = 7, .state = 'S'};

	ticks(8, s, 0, false); // for a lock that is never released
	assert_int_equal(judge.stalled_ns, 200 * MS);
	s.state = 'D';
	s.asked = true; // and handles no signal
	ticks(8, s, 0, false);
	assert_int_equal(judge.stalled_ns, 400 * MS);
}

static void test_sleeps_on_purpose(void **state)
{
	struct watch_sample s = {.progress = 7, .state = 'S', .rests = true};

	ticks(1000, s, 0, false);
	s.state = 'R';
	ticks(1000, s, TICK, false);
	assert_int_equal(judge.stalled_ns, 0);
}

// By a debugger, or SIGSTOP.
static void test_stopped(void **state)
{
	static const char states[] = {'T', 't', 'Z', 'X', 0};

	for (unsigned int i = 0; i < sizeof(states); i++) {
		struct watch_sample s = {.progress = 7, .state = states[i]};

		ticks(1000, s, TICK, false);
	}
	assert_int_equal(judge.stalled_ns, 0);
}

// The hypervisor has stopped the CPU, or a system call does not return: CPU time increases, but no
// signal is handled. For the latter the watchdog does not wait forever.
static void test_no_answer(void **state)
{
	struct watch_sample s = runs;

	s.asked = true;
	ticks(80, s, TICK, false);
	assert_int_equal(judge.stalled_ns, 200 * MS);
	s.answered = true;
	ticks(8, s, TICK, false);
	assert_int_equal(judge.stalled_ns, 400 * MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_endless_loop, fresh),
		cmocka_unit_test_setup(test_progress_forgets, fresh),
		cmocka_unit_test_setup(test_starved, fresh),
		cmocka_unit_test_setup(test_half_a_cpu, fresh),
		cmocka_unit_test_setup(test_clock_jumps, fresh),
		cmocka_unit_test_setup(test_machine_stood_still, fresh),
		cmocka_unit_test_setup(test_full_machine, fresh),
		cmocka_unit_test_setup(test_waits, fresh),
		cmocka_unit_test_setup(test_sleeps_on_purpose, fresh),
		cmocka_unit_test_setup(test_stopped, fresh),
		cmocka_unit_test_setup(test_no_answer, fresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
