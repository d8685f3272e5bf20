// SPDX-License-Identifier: BSD-3-Clause
// nexthop.c: from a destination to a MAC.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct addr;
struct hot;
struct net_neigh_msg;
struct rte_mbuf;
struct worker;

// Finds the port by which our address src reaches dst, and the neighbour on the way (via). The port
// need not be the one that src is on. False: there is no route.
bool nexthop_find(const struct hot *h, const struct addr *src, const struct addr *dst,
	uint8_t *port, struct addr *via);
// From one of our addresses to a destination, on account of a client, who may be the destination
// himself, and of his user: if the neighbour has to be asked for, that is taken from their share.
struct nexthop_way {
	const struct addr *src, *dst, *client;
	uint64_t user; // turn_icmp_user, 0 = there is no allocation
};
// Finds the entry of the neighbour on the way, and the port. DP_OK or a reason.
unsigned int nexthop_resolve(
	struct worker *w, const struct nexthop_way *lookup, uint8_t *port, uint16_t *neigh);
// Whether nexthop_send would send or hold all of n packets to a neighbour. DP_OK or a reason.
unsigned int nexthop_takes(struct worker *w, uint16_t neigh, unsigned int n);
// Fills in the destination MAC and sends, or holds until there is one. Takes the packet.
void nexthop_send(struct worker *w, struct rte_mbuf *m, uint8_t port, uint16_t neigh);
// Learns what an ARP or ND packet told that came in here or on another worker.
void nexthop_learn(struct worker *w, uint8_t port, const struct net_neigh_msg *msg, bool from_ask);
// Ages, asks, gives up; keeps the gateways known. Once a millisecond at most.
void nexthop_tick(struct worker *w);
// When nexthop_tick has something to do next, as things are now.
uint64_t nexthop_next_ms(const struct worker *w);
// The routes have changed: within milliseconds every line finds its ways anew.
void nexthop_change(struct worker *w);
// Drops what is held; the worker is no longer running.
void nexthop_drain(struct worker *w);
