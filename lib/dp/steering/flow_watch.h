// SPDX-License-Identifier: BSD-3-Clause
// flow_watch.c: whether rules that the NIC took do what they promise. Pure.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define STEER_LOOK_MS 1000 // the counters are judged once in this time
#define STEER_JUDGE_S 10 // and this many times alike before anything is said
// Share of the packets that come in elsewhere: above the first is bad, at the second or below good.
#define STEER_BAD_PERMILLE 10
#define STEER_GOOD_PERMILLE 5

// Judges counters that only grow. The mgmt lcore's, except degraded.
struct flow_watch {
	uint64_t hits, handed_over; // at the last look
	uint64_t looked_ms;
	uint32_t bad, good; // looks in a row; those without a packet do not count
	bool degraded; // read by any thread
};

// The counters as they stand now; called as often as one likes. now_ms is monotonic and not 0.
void flow_watch_look(struct flow_watch *w, uint64_t hits, uint64_t handed_over, uint64_t now_ms);
