// SPDX-License-Identifier: BSD-3-Clause
// vlans.c: what came in on a device that several ports share, sorted by its tags.
#pragma once

#include <stdint.h>

#include "dp_burst.h"

struct dp;
struct rte_mbuf;
struct worker;

// What vlans.c has still to give out of a burst. Empty between bursts.
struct sorting {
	struct rte_mbuf *m[DP_BURST]; // as received
	uint8_t port[DP_BURST]; // that each is for
	uint32_t left; // those not given out yet, as bits
};

// Notes the tag of a port that is a VLAN on another port's device. 0 or -ENOMEM. Mgmt lcore, before
// workers run.
int vlans_learn(struct dp *d, unsigned int port);
void vlans_free(struct dp *d);

// Takes w->burst.m[0, n), received on `port`, whose device is shared. vlans_next gives them out.
// Neither looks at more of a frame than its tag.
void vlans_begin(struct worker *w, uint8_t port, unsigned int n);
// Puts the frames for one port into w->burst.m, in the order in which they came, and that port into
// *port. Returns how many; 0: there are no more.
unsigned int vlans_next(struct worker *w, uint8_t *port);
