// SPDX-License-Identifier: BSD-3-Clause
// How the kernel schedules a thread before and after it asks for prompt wakes, as the kernel
// reports it.
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "test.h"
#include "threads/prompt_wakes.h"

struct outcome {
	int policy; // with which the thread begins, with this nice value or priority
	int level;
	int failed; // the policy is not available
	struct prompt_wakes_attr before, after;
	int slack;
};

static struct prompt_wakes_attr self(void)
{
	struct prompt_wakes_attr a = {0};

	syscall(SYS_sched_getattr, 0, &a, sizeof(a), 0);
	return a;
}

static void *asks(void *arg)
{
	struct outcome *o = arg;
	const struct sched_param p = {.sched_priority = o->policy == SCHED_FIFO ? o->level : 0};

	o->failed = sched_setscheduler(0, o->policy, &p) != 0 ||
		(o->policy != SCHED_FIFO && setpriority(PRIO_PROCESS, gettid(), o->level) != 0);
	if (o->failed)
		return NULL;
	o->before = self();
	prompt_wakes();
	o->after = self();
	o->slack = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
	return NULL;
}

static struct outcome of_thread(int policy, int level)
{
	struct outcome o = {.policy = policy, .level = level};
	pthread_t t;

	assert_int_equal(pthread_create(&t, NULL, asks, &o), 0);
	pthread_join(t, NULL);
	return o;
}

static bool kernel_has_slices(void)
{
	struct utsname u;
	unsigned int major, minor;

	assert_int_equal(uname(&u), 0);
	assert_int_equal(sscanf(u.release, "%u.%u", &major, &minor), 2);
	return major > 6 || (major == 6 && minor >= 12);
}

static void assert_kept(const struct outcome *o)
{
	assert_int_equal(o->after.policy, o->policy);
	assert_int_equal(o->after.nice, o->before.nice);
	assert_int_equal(o->after.priority, o->before.priority);
	assert_int_equal(o->after.flags, o->before.flags);
}

// 0.1 ms is the shortest slice that the kernel grants.
static void a_fair_thread_gets_a_short_slice(void **state)
{
	static const int policies[] = {SCHED_OTHER, SCHED_BATCH};

	for (size_t i = 0; i < 2; i++) {
		const struct outcome o = of_thread(policies[i], 5);

		assert_false(o.failed);
		assert_kept(&o);
		assert_int_equal(o.after.nice, 5);
		assert_int_equal(o.slack, 1000);
		if (kernel_has_slices())
			assert_int_equal(o.after.runtime, 100000);
	}
}

static void a_real_time_thread_stays_real_time(void **state)
{
	const struct outcome o = of_thread(SCHED_FIFO, 3);

	if (o.failed)
		skip(); // needs privileges
	assert_kept(&o);
	assert_int_equal(o.after.priority, 3);
	assert_int_equal(o.after.runtime, o.before.runtime);
}

static void other_threads_keep_their_slice(void **state)
{
	const struct prompt_wakes_attr before = self();

	of_thread(SCHED_OTHER, 0);
	assert_int_equal(self().runtime, before.runtime);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fair_thread_gets_a_short_slice),
		cmocka_unit_test(a_real_time_thread_stays_real_time),
		cmocka_unit_test(other_threads_keep_their_slice),
	};

	return cmocka_run_group_tests_name("prompt_wakes", tests, NULL, NULL);
}
