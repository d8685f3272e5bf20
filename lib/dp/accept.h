// SPDX-License-Identifier: BSD-3-Clause
// accept.c: from frames to datagrams for the shard.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct addr;
struct dp;
struct local_addr;
struct worker;

// Judges the n received packets in the burst. Datagrams for this worker's shard stay, moved
// together, with their views; all other packets are dealt with.
void accept_burst(struct worker *w, uint8_t port, unsigned int n);
// Judges by its addresses what came in on a port: to an address of ours, *to, from another host,
// and by the port that this host is behind. DP_OK or a reason to drop it.
unsigned int accept_ends(const struct worker *w, const struct addr *src, const struct addr *dst,
	uint8_t port, const struct local_addr **laddr);
// Judges packet i of the burst, for which no line vouches. False: it has been dealt with.
bool accept_again(struct worker *w, unsigned int i);
