// SPDX-License-Identifier: BSD-3-Clause
// Checks that the rules in the NIC steer packets to the right queues. Pure.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define STEER_LOOK_MS 1000 // interval of the checks
#define STEER_JUDGE_S 10 // number of equal results in a row before the verdict changes
// Share of the packets that arrive on the wrong queue: a check is bad above the first limit, and
// good at or below the second one.
#define STEER_BAD_PERMILLE 10
#define STEER_GOOD_PERMILLE 5

// Watches counters that only grow. For the management lcore, except degraded.
struct flow_watch {
	uint64_t hits, handed_over; // values at the last check
	uint64_t looked_ms;
	uint32_t bad, good; // consecutive results; checks without packets do not count
	bool degraded; // any thread reads it
};

// Checks the current counters. It may be called at any rate. now_ms is monotonic and not 0.
void flow_watch_look(struct flow_watch *w, uint64_t hits, uint64_t handed_over, uint64_t now_ms);
