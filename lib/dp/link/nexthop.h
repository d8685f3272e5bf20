// SPDX-License-Identifier: BSD-3-Clause
// Resolves a destination to a MAC.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct addr;
struct hot;
struct net_neigh_msg;
struct rte_mbuf;
struct worker;

// Finds the port through which our address src reaches dst, and the next hop (via). The port may be
// another one than the port that has src. False if there is no route.
bool nexthop_find(const struct hot *h, const struct addr *src, const struct addr *dst,
	uint8_t *port, struct addr *via);
// A look-up: from one of our addresses to a destination, on account of a client, which may be the
// destination, and of its user. If it takes an ARP or ND question, that counts against their
// shares.
struct nexthop_lookup {
	const struct addr *src, *dst, *client;
	uint64_t user; // turn_icmp_user, 0 = no allocation
};
// Finds the neighbour entry of the next hop, and the port. Returns DP_OK or a drop reason.
unsigned int nexthop_resolve(
	struct worker *w, const struct nexthop_lookup *lookup, uint8_t *port, uint16_t *neigh);
// DP_OK if nexthop_send would send or hold all of n packets to a neighbour, else a drop reason.
unsigned int nexthop_takes(struct worker *w, uint16_t neigh, unsigned int n);
// Fills in the destination MAC and sends the packet, or holds it until the MAC is known. Consumes
// the packet.
void nexthop_send(struct worker *w, struct rte_mbuf *m, uint8_t port, uint16_t neigh);
// Learns from an ARP or ND packet that came in on this worker or another one.
void nexthop_learn(struct worker *w, uint8_t port, const struct net_neigh_msg *msg, bool from_ask);
// Ages entries, asks, gives up, and keeps the gateways known. Call it at most once a millisecond.
void nexthop_tick(struct worker *w);
// Next time at which nexthop_tick has work, given the current state.
uint64_t nexthop_next_ms(const struct worker *w);
// Call it when the routes have changed: within milliseconds every line looks up its next hops
// again.
void nexthop_change(struct worker *w);
// Drops all held packets. Call it after the worker has stopped.
void nexthop_drain(struct worker *w);
