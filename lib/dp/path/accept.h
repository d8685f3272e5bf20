// SPDX-License-Identifier: BSD-3-Clause
// Turns received frames into datagrams for the shard.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct addr;
struct dp;
struct local_addr;
struct worker;

// Classifies the n received packets of the burst. Datagrams for this worker's shard stay in the
// burst, closed up, with their views. All other packets are sent on, answered or dropped.
void accept_burst(struct worker *w, uint8_t port, unsigned int n);
// Checks the source and destination address of a packet that came in on a port. The destination
// must be one of our addresses, which *laddr then points to, the source must be another host, and
// that host must be reached through this port. Returns DP_OK or a drop reason.
unsigned int accept_ends(const struct worker *w, const struct addr *src, const struct addr *dst,
	uint8_t port, const struct local_addr **laddr);
// Checks packet i of the burst, for which no line vouches. False if the packet has been sent on,
// answered or dropped.
bool accept_again(struct worker *w, unsigned int i);
