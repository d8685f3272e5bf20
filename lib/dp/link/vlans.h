// SPDX-License-Identifier: BSD-3-Clause
// Sorts the packets from a device that several ports share, by tag.
#pragma once

#include <stdint.h>

#include "dp_burst.h"

struct dp;
struct rte_mbuf;
struct worker;

// The rest of a burst that vlans.c is handing out. Empty between bursts.
struct sorting {
	struct rte_mbuf *m[DP_BURST]; // as received
	uint8_t port[DP_BURST]; // port of each frame
	uint32_t left; // bit mask of the frames not handed out yet
};

// Records the tag of a port that is a VLAN on another port's device. Returns 0 or -ENOMEM.
// Management lcore, before workers run.
int vlans_learn(struct dp *d, unsigned int port);
void vlans_free(struct dp *d);

// Takes w->burst.m[0, n), received on `port`, whose device is shared. vlans_next hands them out.
// Both read only the tag of a frame.
void vlans_begin(struct worker *w, uint8_t port, unsigned int n);
// Puts the frames for one port into w->burst.m, in the order of their arrival, and that port into
// *port. Returns their number; 0 if no frames are left.
unsigned int vlans_next(struct worker *w, uint8_t *port);
