// SPDX-License-Identifier: BSD-3-Clause
// Judges whether a thread hangs. It counts time only in which the thread could have gone on: one
// that has no CPU, or that stands still with the whole machine, does not hang. Pure. Private to
// lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// What is seen of a thread at a tick.
struct watch_sample {
	uint64_t progress; // any number that changes as the thread goes on
	bool rests; // sleeps on purpose
	char state; // of proc(5): R, S, D, T, ...; 0 = unknown
	uint64_t cpu_ns; // CPU time so far
	bool answered; // it has handled the signal that it was sent at the tick before
	bool asked; // it was sent one
};

struct watch_judge {
	uint64_t progress, cpu_ns;
	uint64_t stalled_ns; // without progress, of the time that counts
};

// One tick: ns have passed since the one before. A tick that came late counts nothing: where the
// watchdog did not run in time, others need not have run either. Returns whether the thread has
// made progress.
bool watch_judge_tick(struct watch_judge *j, const struct watch_sample *s, uint64_t ns, bool late);
// Whether a tick came late; want: the time between two.
static inline bool watch_judge_late(uint64_t ns, uint64_t want)
{
	return ns > 2 * want;
}
