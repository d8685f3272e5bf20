// SPDX-License-Identifier: BSD-3-Clause
// Sends datagrams that exceed the MTU of their path.
#pragma once

#include <stdint.h>

struct net_frame;
struct rte_mbuf;
struct worker;

// Route of the fragments.
struct fragment_route {
	uint8_t port;
	uint16_t neigh;
	uint16_t mtu;
};

// Sends a finished UDP frame, which f describes and which may be fragmented, as fragments, in
// order. It sends all or none, whether or not the neighbour is known; only a full port may accept a
// part (tx-full). Consumes the packet.
void fragment_out_send(struct worker *w, struct rte_mbuf *m, const struct net_frame *f,
	const struct fragment_route *route);
