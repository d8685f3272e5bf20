// SPDX-License-Identifier: BSD-3-Clause
// The steering ladder: kinds of rules in the NIC, the best one first. A port uses the first kind
// that its NIC accepts.
#pragma once

#include <stdint.h>

#include "steering/flow_rules.h"
#include "steering/flow_watch.h"

struct dp;

enum steer_step {
	STEER_NONE, // nothing to steer
	STEER_ADDRESS, // rules match the destination address
	STEER_PORT_BITS, // rules also match bits of the destination port
	STEER_OFF, // no rules: workers hand packets over by rings
};

// Steering of one family on a port. The management lcore writes it before the workers run. Later it
// writes only watch.
struct steering {
	enum steer_step step;
	char reason[STEER_OFF][FLOW_RULES_WHY_LEN]; // by step: why it is not in use
	void **flow; // handles of the rules
	uint32_t nb_flows;
	struct flow_watch watch;
};

// Tries the steps for both families of a started port, in the order of enum steer_step, until the
// NIC has accepted all rules of one. If it accepts no step, the port gets STEER_OFF.
void flow_ladder_install(struct dp *d, unsigned int port);
// Removes the rules of a port. Management lcore.
void flow_ladder_remove(struct dp *d, unsigned int port);
// Checks by the workers' counters whether the rules work. Management lcore.
void flow_ladder_watch(struct dp *d, uint64_t now_ms);
