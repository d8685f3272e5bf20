// SPDX-License-Identifier: BSD-3-Clause
// Makes the rules with which a NIC steers packets from peers to the queue of the worker that owns
// their relay port. Pure: it depends only on the configuration and the relay map.
#pragma once

#include "conf.h"
#include "port.h"
#include "turn_config.h"

#define FLOW_RULES_MAX 16384 // for one family on a port
#define FLOW_RULES_WHY_LEN 112

enum flow_rules_step {
	FLOW_RULES_ADDRESS, // destination address only
	FLOW_RULES_PORT_BITS, // also bits of the destination port
};

// One family on a port. Queue n of the port belongs to worker n.
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

// Number of relay addresses of the family on the port.
uint32_t flow_rules_addresses(const struct flow_rules_want *w);

// Index in the relay map of address i of the port, or -1 if the rules are not for it.
int flow_rules_relay(const struct flow_rules_want *w, uint32_t i);
// Adds a rule. Returns 0, or -E2BIG or -ENOMEM with the reason in reason.
int flow_rules_add(
	struct flow_rules *r, const struct port_rule *rule, char reason[FLOW_RULES_WHY_LEN]);
// Makes the rules of a step. No two of them match the same packet, and none matches packets of a
// listener's clients, which RSS distributes. Rules on port bits leave out the 128 ports around a
// listener within the relay range. Returns 0; -EINVAL if the step cannot do it, -E2BIG if it takes
// more than FLOW_RULES_MAX rules, or -ENOMEM, each with the reason in reason.
int flow_rules_make(const struct flow_rules_want *w, enum flow_rules_step step,
	struct flow_rules *out, char reason[FLOW_RULES_WHY_LEN]);
