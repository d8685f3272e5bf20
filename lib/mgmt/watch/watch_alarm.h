// SPDX-License-Identifier: BSD-3-Clause
// Consequences for a thread that makes no progress: its stack in the log, and the end of the
// process. Private to lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct watched;

struct watch_tick {
	uint64_t ns; // since the last tick
	bool late;
};

// A thread at the current tick.
struct watch_about {
	const char *name; // for people
	const char *stage; // its current work; NULL: unknown
	uint64_t progress;
	bool rests;
	uint32_t alarm_ms, abort_ms; // 0 = never
};

// Examines a thread, and does the steps that are due. It may end the process. The watchdog thread
// only.
void watch_alarm(struct watched *t, const struct watch_tick *k, const struct watch_about *a);
