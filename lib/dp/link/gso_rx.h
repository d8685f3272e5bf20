// SPDX-License-Identifier: BSD-3-Clause
// Receives super-frames.
#pragma once

#include <stdint.h>

#include "dp_burst.h"
#include "link/gso_whole.h"

struct rte_mbuf;
struct worker;

#define DP_SUPER_MAX 128 // limit of datagrams in a received one: Linux's UDP_MAX_SEGMENTS

// The rest of a burst that gso_rx.c is handing out. Empty between bursts.
struct pieces {
	struct rte_mbuf *in[DP_BURST]; // as received
	unsigned int in_at, nb_in;
	struct rte_mbuf *cut[DP_SUPER_MAX]; // from the last one of them
	unsigned int cut_at, nb_cut;
	struct whole whole; // the last one of them, while its first datagram is relayed ahead
};

// Takes w->burst.m[0, n), received on a port that may deliver super-frames, and replaces it by its
// first plain frames. It counts them as received; accept_burst counts their bytes. Returns their
// number; gso_rx_next gives the others. The caller relays the frames before it calls that.
unsigned int gso_rx_begin(struct worker *w, uint8_t port, unsigned int n);
// Puts the next frames into w->burst.m. Returns their number; 0 if no frames are left.
unsigned int gso_rx_next(struct worker *w, uint8_t port);
