// SPDX-License-Identifier: BSD-3-Clause
// Converts the time of events from the workers' clock to the time of day. It keeps their order,
// although milliseconds of the two clocks do not begin at the same moment. Private to lib/mgmt.
// Management lcore.
#pragma once

#include <stdint.h>

// Zero-initialised.
struct event_time {
	int64_t ahead_ms; // time of day minus workers' clock
};

// at_ms: time of the event. now_ms, wall_ms: both clocks now. Returns milliseconds of the time of
// day.
uint64_t event_time_wall(struct event_time *t, uint64_t at_ms, uint64_t now_ms, uint64_t wall_ms);
