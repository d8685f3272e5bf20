// SPDX-License-Identifier: BSD-3-Clause
// Steers the packets of a port by rules in its NIC, with the best step of the ladder that works.
#pragma once

#include <stdint.h>

#include "steering/flow_rules.h"
#include "steering/flow_watch.h"

struct dp;

enum steer_step {
	STEER_NONE, // nothing to steer
	STEER_ADDRESS,
	STEER_PORT_BITS,
	STEER_OFF, // no rules: rings between workers
};

// The management lcore writes it before the workers run, and watch also later.
struct steering {
	enum steer_step step;
	char reason[STEER_OFF][FLOW_RULES_WHY_LEN]; // by step, for those not in use
	void **flow; // handles of the rules
	uint32_t nb_flows;
	struct flow_watch watch;
};

// Goes down the ladder for both families of a started port until all rules of a step are in the
// NIC, or none can be.
void flow_ladder_install(struct dp *d, unsigned int port);
void flow_ladder_remove(struct dp *d, unsigned int port);
// Checks by the workers' counters whether the rules work. Management lcore.
void flow_ladder_watch(struct dp *d, uint64_t now_ms);
