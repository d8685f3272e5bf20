// SPDX-License-Identifier: BSD-3-Clause
// Sends datagrams that exceed the MTU of their path.
#pragma once

#include <stdint.h>

struct net_frame;
struct rte_mbuf;
struct worker;

// Where the fragments go.
struct fragment_route {
	uint8_t port; // index of the port
	uint16_t neigh; // index of the neighbour
	uint16_t mtu; // of the path, in bytes
};

// Sends a finished UDP frame without DF as fragments, in order. f describes the frame. Either all
// fragments are sent, or none, even if they must wait for the neighbour's MAC. Only a full port may
// accept some of them and refuse others (tx-full). Consumes the packet.
void fragment_out_send(struct worker *w, struct rte_mbuf *m, const struct net_frame *f,
	const struct fragment_route *route);
