// SPDX-License-Identifier: BSD-3-Clause
// Counts the time without progress (watch_judge.h).
#include "watch/watch_judge.h"

#define UNANSWERED 10 // an unanswered tick counts 1/10 of its time

static uint64_t min_ns(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

// CPU time tells a running thread from one that waits for a CPU. It cannot tell when the hypervisor
// has taken the CPU away, but then the thread handles no signal. A thread that runs in the kernel
// handles no signal either: that is why an unanswered tick counts at all.
static uint64_t running_ns(const struct watch_judge *j, const struct watch_sample *s, uint64_t ns)
{
	const uint64_t cpu = s->cpu_ns > j->cpu_ns ? s->cpu_ns - j->cpu_ns : 0;
	const uint64_t counts = min_ns(cpu, ns);

	return s->asked && !s->answered ? counts / UNANSWERED : counts;
}

static uint64_t counted_ns(const struct watch_judge *j, const struct watch_sample *s, uint64_t ns)
{
	switch (s->state) {
	case 'D': // waits for a device, and handles no signals
		return ns;
	case 'S': // waits for an event that does not come
		if (s->rests)
			return 0;
		return s->asked && !s->answered ? ns / UNANSWERED : ns;
	case 'R':
		return s->rests ? 0 : running_ns(j, s, ns);
	}
	return 0; // stopped by a debugger, or ended
}

bool watch_judge_tick(struct watch_judge *j, const struct watch_sample *s, uint64_t ns, bool late)
{
	const bool goes_on = s->progress != j->progress;

	if (goes_on)
		j->stalled_ns = 0;
	else if (!late)
		j->stalled_ns += counted_ns(j, s, ns);
	j->progress = s->progress;
	j->cpu_ns = s->cpu_ns;
	return goes_on;
}
