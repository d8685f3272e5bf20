// SPDX-License-Identifier: BSD-3-Clause
// Keeps one difference between the clocks for all events. It changes only when the measured
// difference moves by more than the offset of their milliseconds.
#include "records/event_time.h"

#define SAME_MS 2

uint64_t event_time_wall(struct event_time *t, uint64_t at_ms, uint64_t now_ms, uint64_t wall_ms)
{
	const int64_t ahead_ms = (int64_t)(wall_ms - now_ms);

	if (ahead_ms > t->ahead_ms + SAME_MS || ahead_ms < t->ahead_ms - SAME_MS)
		t->ahead_ms = ahead_ms;
	return (at_ms < now_ms ? at_ms : now_ms) + (uint64_t)t->ahead_ms;
}
