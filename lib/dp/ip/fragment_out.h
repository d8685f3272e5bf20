// SPDX-License-Identifier: BSD-3-Clause
// fragment_out.c: sending what is longer than its way's MTU.
#pragma once

#include <stdint.h>

struct net_frame;
struct rte_mbuf;
struct worker;

// Where fragments go.
struct fragment_way {
	uint8_t port;
	uint16_t neigh;
	uint16_t mtu;
};

// Sends a finished frame of UDP, which f describes and which may be fragmented, as fragments: in
// order, and all or none, whether the neighbour is known or has to be asked for. Only a full port
// may take a part (tx-full). Takes the packet.
void fragment_out_send(struct worker *w, struct rte_mbuf *m, const struct net_frame *f,
	const struct fragment_way *route);
