// SPDX-License-Identifier: BSD-3-Clause
// Judges whether a thread hangs. It counts only time in which the thread could have made progress:
// a thread without a CPU, or on a machine that was stopped, does not hang. Pure. Private to
// lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Observation of a thread at a tick.
struct watch_sample {
	uint64_t progress; // any number that changes when the thread makes progress
	bool rests; // true if it sleeps on purpose
	char state; // state of proc(5): R, S, D, T, ...; 0 = unknown
	uint64_t cpu_ns; // CPU time used
	bool answered; // true if it has handled the signal of the last tick
	bool asked; // true if the watchdog sent it a signal at the last tick
};

struct watch_judge {
	uint64_t progress, cpu_ns;
	uint64_t stalled_ns; // counted time without progress
};

// Judges one tick, ns nanoseconds after the last one. The time before a late tick is not counted:
// if the watchdog did not run in time, other threads may not have run either. True if the thread
// has made progress.
bool watch_judge_tick(struct watch_judge *j, const struct watch_sample *s, uint64_t ns, bool late);
// True if a tick came late. ns: time since the last tick; want: the intended interval, also in ns.
static inline bool watch_judge_late(uint64_t ns, uint64_t want)
{
	return ns > 2 * want;
}
