// SPDX-License-Identifier: BSD-3-Clause
// losses.c: which drops are losses of an allocation's datagrams (turn_usage.h). lib/turn counts
// those that it decides itself.
#pragma once

#include <stdint.h>

#include "turn.h"
#include "turn_usage.h"

struct rte_mbuf;
struct worker;

// The plan to relay that is under way: its packet, NULL when there is none, and what lib/turn has
// counted for it.
struct losses {
	const struct rte_mbuf *m;
	struct turn_relayed relayed;
};

// What is noted beside a packet that waits for a neighbour. slot TURN_NONE: of no allocation.
struct losses_held {
	struct turn_relayed relayed;
	uint32_t number; // turn_usage_number
};

// Class of a drop for this reason (enum dp_drop), TURN_LOSS_END = none. Any thread.
unsigned int losses_of(unsigned int reason);
// Counts that the packet of the plan under way was dropped.
void losses_planned(struct worker *w, unsigned int reason);
// Notes beside a packet that now waits for a neighbour whose it is.
void losses_hold(struct worker *w, struct rte_mbuf *m);
// Counts that a packet was dropped which has waited so.
void losses_held(struct worker *w, struct rte_mbuf *m, unsigned int reason);
