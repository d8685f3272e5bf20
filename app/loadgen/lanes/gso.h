// SPDX-License-Identifier: BSD-3-Clause
// Super-frames, both ways.
#pragma once

#include "lanes/lane.h"

#define SUPER_MAX 128 // datagrams of a received super-frame: Linux makes none with more

// Makes super-frames of the runs in the outbox of a side, where its port takes them. Returns how
// many frames are left; frame_of: the frame that each of its datagrams is in.
unsigned int gso_make(struct lane *l, unsigned int side, uint8_t frame_of[LANE_BURST]);
// Counts those among the first `sent` frames that n datagrams became.
void gso_sent(
	struct lane *l, const uint8_t frame_of[LANE_BURST], unsigned int n, unsigned int sent);
// Cuts a received super-frame into out and frees it. Returns how many datagrams; 0: none, counted.
unsigned int gso_cut(
	struct lane *l, unsigned int side, struct rte_mbuf *m, struct rte_mbuf *out[SUPER_MAX]);
