// SPDX-License-Identifier: BSD-3-Clause
// gso_rx.c: super-frames received.
#pragma once

#include <stdint.h>

#include "dp_burst.h"
#include "link/gso_whole.h"

struct rte_mbuf;
struct worker;

#define DP_SUPER_MAX 128 // most datagrams in one that is received: Linux's UDP_MAX_SEGMENTS

// What gso_rx.c has still to give out of a burst. Empty between bursts.
struct pieces {
	struct rte_mbuf *in[DP_BURST]; // as received
	unsigned int in_at, nb_in;
	struct rte_mbuf *cut[DP_SUPER_MAX]; // out of the last one of them
	unsigned int cut_at, nb_cut;
	struct whole whole; // the last one of them, if its first datagram is on its way
};

// Takes w->burst.m[0, n), received on a port that may receive super-frames, and puts the first
// plain frames of it in its place. They are counted here, their bytes by accept_burst. Returns how
// many; gso_rx_next has the others. The frames have to be relayed before it is called.
unsigned int gso_rx_begin(struct worker *w, uint8_t port, unsigned int n);
// The next ones into w->burst.m; 0: there are no more, of any.
unsigned int gso_rx_next(struct worker *w, uint8_t port);
