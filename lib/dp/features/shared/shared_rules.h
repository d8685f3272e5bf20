// SPDX-License-Identifier: BSD-3-Clause
// The data path's part of shared relay ports: their rules in the NIC, and what a reload cannot
// change.
#pragma once

#include "steering/flow_rules.h"

struct dp;

// True if ports are shared.
bool shared_rules_used(const struct flow_rules_want *w);
// flow_rules_make() for shared ports: one rule for each port, because each has its own worker.
// Ports of listeners get no rule.
int shared_rules_make(const struct flow_rules_want *w, enum flow_rules_step step,
	struct flow_rules *out, char reason[FLOW_RULES_WHY_LEN]);
// The reason why a reload needs a restart: there are too few slots. NULL if there are enough.
const char *shared_too_small(const struct dp *d, const struct turn_config *c);
