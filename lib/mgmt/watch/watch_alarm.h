// SPDX-License-Identifier: BSD-3-Clause
// What follows from a thread that makes no progress: its stack in the log, and the end. Private to
// lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct watched;

struct watch_tick {
	uint64_t ns; // since the tick before
	bool late;
};

// A thread, as of this tick.
struct watch_about {
	const char *name; // for people
	const char *stage; // what it does; NULL: unknown
	uint64_t progress;
	bool rests;
	uint32_t alarm_ms, abort_ms; // 0 = never
};

// Looks at a thread, and does what is due. It may end the process. On the thread that watches.
void watch_alarm(struct watched *t, const struct watch_tick *k, const struct watch_about *a);
