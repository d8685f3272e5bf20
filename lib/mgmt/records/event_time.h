// SPDX-License-Identifier: BSD-3-Clause
// The time of day of events, which have that of the workers' clock: in the order of the latter,
// although milliseconds of the two clocks do not begin at the same moment. Private to lib/mgmt. The
// management lcore.
#pragma once

#include <stdint.h>

// All zero at first.
struct event_time {
	int64_t ahead_ms; // of the time of day before the workers' clock
};

// at_ms: of the event; now_ms, wall_ms: both clocks now. Returns milliseconds of the time of day.
uint64_t event_time_wall(struct event_time *t, uint64_t at_ms, uint64_t now_ms, uint64_t wall_ms);
