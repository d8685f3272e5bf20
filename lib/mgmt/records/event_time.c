// SPDX-License-Identifier: BSD-3-Clause
// One difference of the clocks for all events, until it is another one by more than the two may
// differ in when their milliseconds begin.
#include "records/event_time.h"

#define SAME_MS 2

uint64_t event_time_wall(struct event_time *t, uint64_t at_ms, uint64_t now_ms, uint64_t wall_ms)
{
	const int64_t ahead_ms = (int64_t)(wall_ms - now_ms);

	if (ahead_ms > t->ahead_ms + SAME_MS || ahead_ms < t->ahead_ms - SAME_MS)
		t->ahead_ms = ahead_ms;
	return (at_ms < now_ms ? at_ms : now_ms) + (uint64_t)t->ahead_ms;
}
