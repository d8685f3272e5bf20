// SPDX-License-Identifier: BSD-3-Clause
// Super-frames (one frame that carries several datagrams), sent and received.
#pragma once

#include "lanes/lane.h"

#define SUPER_MAX 128 // datagrams in a received super-frame; Linux builds none with more

// Joins datagrams in the outbox of a side into super-frames, if its port takes them. Returns how
// many frames the outbox has then. frame_of[i] is the frame that datagram i went into.
unsigned int gso_make(struct lane *l, unsigned int side, uint8_t frame_of[LANE_BURST]);
// Counts the super-frames among the first `sent` frames. The frames were made of n datagrams.
void gso_sent(
	struct lane *l, const uint8_t frame_of[LANE_BURST], unsigned int n, unsigned int sent);
// Cuts a received super-frame into datagrams in out, and frees it. Returns how many there are; 0
// when it could not be cut, which is counted.
unsigned int gso_cut(
	struct lane *l, unsigned int side, struct rte_mbuf *m, struct rte_mbuf *out[SUPER_MAX]);
