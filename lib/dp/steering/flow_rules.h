// SPDX-License-Identifier: BSD-3-Clause
// Which rules in a NIC bring packets from peers to the queue of the worker that owns their relay
// port. Pure: from the configuration and the relay map alone.
#pragma once

#include "conf.h"
#include "port.h"
#include "turn_config.h"

#define FLOW_RULES_MAX 16384 // for a family on a port
#define FLOW_RULES_WHY_LEN 112

enum flow_rules_step {
	FLOW_RULES_T1, // destination address alone
	FLOW_RULES_T2, // and bits of the destination port
};

// A family on a port. Queue n of the port belongs to worker n.
struct flow_rules_want {
	const struct conf_port *port;
	const struct turn_config *turn; // workers is resolved
	const struct turn_relay_map *map;
	bool is_v4;
};

struct flow_rules {
	struct port_rule *rule; // the caller frees it
	uint32_t nb;
};

// Relay addresses of the family on the port.
uint32_t flow_rules_addresses(const struct flow_rules_want *w);

// Makes the rules of a step; no two of them match the same packet, and none a listener's clients,
// which RSS spreads. T2's leave out the 128 ports around a listener within the relay range.
// 0; -EINVAL when the step cannot do it, -E2BIG when it takes more than FLOW_RULES_MAX, -ENOMEM,
// each with the reason in why.
int flow_rules_make(const struct flow_rules_want *w, enum flow_rules_step step,
	struct flow_rules *out, char reason[FLOW_RULES_WHY_LEN]);
