// SPDX-License-Identifier: BSD-3-Clause
// Threads that sleep for microseconds, and are late where the kernel takes its time to wake them.
#pragma once

#include <stdint.h>

#define PROMPT_WAKES_SLACK_NS 1000 // of the kernel's timers; by itself it lets them be 50 us late
// What a woken thread runs for before others of its CPU have their turn: the least that there is.
// Whoever has the shorter slice goes first. By itself a thread has 1.4 to 2.8 ms, and waits for the
// end of another one's.
#define PROMPT_WAKES_SLICE_NS 100000

// sched_attr of sched_setattr(2) in its first form. The headers of Linux that have it cannot be had
// beside sched.h, and glibc's have it from 2.41 on.
struct prompt_wakes_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

// Has the kernel wake the calling thread promptly. Linux gives slices from 6.12 on, under its fair
// policies; a thread of a real-time policy needs none. What the kernel refuses stays as it is.
void prompt_wakes(void);
