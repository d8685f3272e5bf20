// SPDX-License-Identifier: BSD-3-Clause
// The steering of one family of a port: which step of the ladder is in use, and whether it does
// what it promises.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "steering/flow_rules.h"

#define STEER_LOOK_MS 1000 // the counters are judged once in this time
#define STEER_JUDGE_S 10 // and this many times alike before anything is said
// Share of the packets that come in elsewhere: above the first is bad, at the second or below good.
#define STEER_BAD_PERMILLE 10
#define STEER_GOOD_PERMILLE 5

enum steer_step {
	STEER_NONE, // nothing to steer
	STEER_T1,
	STEER_T2,
	STEER_T4,
};

// Datagrams from peers as they came in on a port's queues, by family: [is_v4]. Written by one
// worker, read by any thread.
struct steer_counts {
	uint64_t came[2];
	uint64_t elsewhere[2]; // of them, those that were handed over
};

// Judges counters that only grow. Mgmt lcore, but for degraded.
struct flow_watch {
	uint64_t hits, handed_over; // at the last look
	uint64_t looked_ms;
	uint32_t bad, good; // looks in a row; those without a packet do not count
	bool degraded; // read by any thread
};

// The counters as they stand now; called as often as one likes. now_ms is monotonic and not 0.
void flow_watch_look(struct flow_watch *w, uint64_t hits, uint64_t handed_over, uint64_t now_ms);

// Written by the mgmt lcore before the workers run, but for watch.
struct steering {
	enum steer_step step;
	char why[STEER_T4]
		[FLOW_RULES_WHY_LEN]; // by the step that is not in use, STEER_T1 and STEER_T2
	void **flow; // handles of the rules
	uint32_t nb_flows;
	struct flow_watch watch;
};
