// SPDX-License-Identifier: BSD-3-Clause
// flow_ladder.c: the steering of a port by rules in its NIC: which step of the ladder is in use.
#pragma once

#include <stdint.h>

#include "steering/flow_rules.h"
#include "steering/flow_watch.h"

struct dp;

enum steer_step {
	STEER_NONE, // nothing to steer
	STEER_T1,
	STEER_T2,
	STEER_T4,
};

// Written by the mgmt lcore before the workers run; watch also later.
struct steering {
	enum steer_step step;
	char reason[STEER_T4]
		   [FLOW_RULES_WHY_LEN]; // by the step that is not in use, STEER_T1 and STEER_T2
	void **flow; // handles of the rules
	uint32_t nb_flows;
	struct flow_watch watch;
};

// Climbs down the ladder for both families of a started port until a step's rules are all in the
// NIC; T4 needs none.
void flow_ladder_install(struct dp *d, unsigned int port);
void flow_ladder_remove(struct dp *d, unsigned int port);
// Judges by the workers' counters whether the rules do what they should. Mgmt lcore.
void flow_ladder_watch(struct dp *d, uint64_t now_ms);
