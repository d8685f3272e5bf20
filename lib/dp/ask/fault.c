// SPDX-License-Identifier: BSD-3-Clause
// Triggers faults for tests of the watchdog and of crash reports. An order waits in the code that
// times one datagram in 1,024, so that no datagram costs an extra instruction.
#include "ask/fault.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <time.h>

#include <rte_debug.h>

#include "clock.h"
#include "path/worker.h"

static const char *const names[] = {
#define X(id, name) [id] = name,
	DP_FAULTS(X)
#undef X
};

const char *dp_fault_name(unsigned int fault)
{
	return fault < DP_FAULT_END ? names[fault] : NULL;
}

// Measured in CPU time, so the load of the machine makes no difference.
static void spin_cpu(uint32_t ms)
{
	const uint64_t end = clock_cpu_ns() / 1000000 + ms;

	while (ms == 0 || clock_cpu_ns() / 1000000 < end)
		;
}

// Sleeps until an absolute time, so a signal does not shorten the sleep.
static void block_thread(uint32_t ms)
{
	const uint64_t wait_ms = ms == 0 ? INT32_MAX * UINT64_C(1000) : ms;
	const struct timespec end = clock_timespec(clock_monotonic_ms() + wait_ms);

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) != 0)
		;
}

// Overflows the stack.
static __rte_noinline unsigned int overflow_stack(volatile unsigned int *n)
{
	volatile unsigned int room[1024] = {*n + 1};

	return *n < UINT32_MAX ? overflow_stack(room) + room[1023] : room[0];
}

// Makes a system call that no thread uses. It only queries, and it succeeds only if there is no
// filter (process.seccomp).
static void forbidden_syscall(void)
{
	if (personality(UINT32_MAX) != -1)
		raise(SIGABRT);
}

void dp_fault_now(const struct dp_fault_order *o)
{
	static volatile uint8_t *volatile nowhere = (volatile uint8_t *)24;
	volatile unsigned int n = 0;

	switch ((enum dp_fault)o->fault) {
	case DP_FAULT_SPIN:
		spin_cpu(o->ms);
		break;
	case DP_FAULT_BLOCK:
		block_thread(o->ms);
		break;
	case DP_FAULT_SEGV:
		*nowhere = 1;
		break;
	case DP_FAULT_BUS:
		raise(SIGBUS);
		break;
	case DP_FAULT_FPE:
		raise(SIGFPE);
		break;
	case DP_FAULT_ILL:
		raise(SIGILL);
		break;
	case DP_FAULT_ABORT:
		abort();
	case DP_FAULT_PANIC:
		rte_panic("by order\n");
	case DP_FAULT_STACK:
		overflow_stack(&n);
		break;
	case DP_FAULT_CALL:
		forbidden_syscall();
		break;
	case DP_FAULT_END:
		break;
	}
}

void fault_take(struct worker *w, const struct dp_fault_order *o)
{
	w->fault = (struct fault){.armed = o->in_burst, .order = *o};
	if (o->in_burst)
		w->timing.left = 0; // time the next datagram of a port
	else
		dp_fault_now(o);
}

void fault_commit(struct worker *w)
{
	w->fault.armed = false;
	dp_fault_now(&w->fault.order);
}
