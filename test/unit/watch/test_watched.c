// SPDX-License-Identifier: BSD-3-Clause
// Observation of real threads: one that spins, one that waits, and one that registers itself; their
// answers to the signal, and their stacks.
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crash/crash_stack.h"
#include "fatal.h"
#include "test.h"
#include "watch/watched.h"

static struct watched by_others, by_itself, asleep;
static pid_t tid[3];
static clockid_t clocks[3];
static bool stop;

static void born(unsigned int i)
{
	pthread_getcpuclockid(pthread_self(), &clocks[i]);
	__atomic_store_n(&tid[i], gettid(), __ATOMIC_RELEASE);
}

static void *spins(void *arg)
{
	born(0);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		;
	return NULL;
}

static void *waits(void *arg)
{
	born(1);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		sleep(1000);
	return NULL;
}

static void *enters(void *arg)
{
	assert_int_equal(watched_enter(&by_itself), 0);
	born(2);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		sleep(1000);
	return NULL;
}

static pthread_t thread[3];

// All signals except those that every thread takes are blocked, as in the server's threads.
static int start(void **state)
{
	void *(*const run[])(void *) = {spins, waits, enters};
	sigset_t others, before;

	assert_int_equal(watched_open(), 0);
	crash_stack_open();
	fatal_others(&others);
	pthread_sigmask(SIG_SETMASK, &others, &before);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, run[i], NULL), 0);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	for (unsigned int i = 0; i < 3; i++)
		while (__atomic_load_n(&tid[i], __ATOMIC_ACQUIRE) == 0)
			usleep(1000);
	watched_know(&by_others, tid[0], clocks[0]);
	watched_know(&asleep, tid[1], clocks[1]);
	return 0;
}

static int end(void **state)
{
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (unsigned int i = 0; i < 3; i++) {
		pthread_kill(thread[i], WATCHED_SIGNAL); // ends its sleep
		pthread_join(thread[i], NULL);
	}
	return 0;
}

// Looks until it is seen in a state: the time that this takes depends on the machine.
static struct watch_sample look(const struct watched *t, char state)
{
	struct watch_sample s = {0};

	do {
		watched_look(t, &s);
		usleep(1000);
	} while (s.state != state);
	return s;
}

static void test_states(void **state)
{
	const struct watch_sample first = look(&by_others, 'R');

	while (look(&by_others, 'R').cpu_ns < first.cpu_ns + 20000000)
		;
	assert_int_equal(look(&asleep, 'S').cpu_ns, look(&asleep, 'S').cpu_ns);
	look(&by_itself, 'S');
	assert_false(first.asked || first.answered);
}

// A sleeping thread is asked: the signal ends its sleep, and it sleeps again.
static void assert_answers(struct watched *t, const char *function)
{
	struct watch_sample s = {0};
	char text[512];

	for (unsigned int i = 0; i < 3; i++) {
		if (function != NULL)
			look(t, 'S');
		watched_ask(t, i == 1);
		do {
			watched_look(t, &s);
			assert_true(s.asked);
		} while (!s.answered || !watched_has_stack(t));
	}
	assert_true(t->nb > 1);
	assert_ptr_equal(watched_stack(t, text, sizeof(text)), text);
	assert_non_null(strstr(text, " < "));
	if (function != NULL)
		assert_non_null(strstr(text, function));
}

static void test_answers(void **state)
{
	assert_answers(&by_others, NULL);
	assert_answers(&asleep, "clock_nanosleep+");
	assert_answers(&by_itself, "clock_nanosleep+");
	assert_null(watched_self());
}

// A thread that blocks all signals, or does not return from the kernel.
static void test_no_answer(void **state)
{
	struct watched none = {.tid = (pid_t)1 << 30};
	struct watch_sample s = {0};
	char text[128];

	watched_ask(&none, true);
	watched_look(&none, &s);
	assert_false(s.answered || watched_has_stack(&none));
	assert_int_equal(s.state, 0);
	assert_string_equal(watched_stack(&none, text, sizeof(text)),
		"unavailable: it handles no signals; it waits in the kernel in unknown");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_no_answer),
	};

	return cmocka_run_group_tests(tests, start, end);
}
