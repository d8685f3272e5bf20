// SPDX-License-Identifier: BSD-3-Clause
// Tells which drops are losses of an allocation's datagrams (turn_usage.h). lib/turn counts its own
// drops itself.
#pragma once

#include <stdint.h>

#include "turn.h"
#include "turn_usage.h"

struct rte_mbuf;
struct worker;

// The plan to relay that is being executed: its packet, or NULL, and the data that lib/turn has
// counted for it.
struct losses {
	const struct rte_mbuf *m;
	struct turn_relayed relayed;
};

// Note on a packet that waits for a neighbour. slot TURN_NONE: it belongs to no allocation.
struct losses_held {
	struct turn_relayed relayed;
	uint32_t number; // turn_usage_number
};

// Loss class of a drop for this reason (enum dp_drop), or TURN_LOSS_END. Any thread.
unsigned int losses_of(unsigned int reason);
// Counts the drop of the packet of the current plan.
void losses_planned(struct worker *w, unsigned int reason);
// Notes the allocation of a packet that now waits for a neighbour.
void losses_hold(struct worker *w, struct rte_mbuf *m);
// Counts the drop of a packet that waited for a neighbour.
void losses_held(struct worker *w, struct rte_mbuf *m, unsigned int reason);
