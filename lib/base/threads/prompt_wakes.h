// SPDX-License-Identifier: BSD-3-Clause
// Prompt wakes for threads that sleep for microseconds.
#pragma once

#include <stdint.h>

#define PROMPT_WAKES_SLACK_NS 1000 // slack of the kernel's timers; the default is 50 us
// Time slice of the thread: the kernel's minimum. A woken thread with a shorter slice preempts
// others. The default slice is 1.4 to 2.8 ms, and a woken thread waits for the end of another
// thread's slice.
#define PROMPT_WAKES_SLICE_NS 100000

// First version of sched_attr of sched_setattr(2). Linux's header with it conflicts with sched.h,
// and glibc's headers have it from 2.41 on.
struct prompt_wakes_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

// Makes the kernel wake the calling thread promptly. Linux supports slices from 6.12 on, with its
// fair policies; threads with a real-time policy need no slice. Settings that the kernel refuses
// stay unchanged.
void prompt_wakes(void);
