// SPDX-License-Identifier: BSD-3-Clause
// host.c: being a host on the link.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct neigh_ask;
struct net_frame;
struct rte_mbuf;
struct worker;

// Sends an address of a port three times, a second apart. Worker 0 only.
struct announcement {
	uint32_t seen; // value of dp_port.announce served last
	uint32_t next; // address to tell next
	uint8_t left; // rounds to go
	uint64_t at_ms;
};

// Takes every ARP, ICMP and ICMPv6 packet.
void host_input(struct worker *w, uint8_t port, struct rte_mbuf *m, const struct net_frame *f);
// Announces addresses where a link has come up. Worker 0 only.
void host_announce_tick(struct worker *w);
// When host_announce_tick has something to do next, as things are now; UINT64_MAX: never.
uint64_t host_announce_next_ms(const struct worker *w);
// Asks for a neighbour.
void host_ask(struct worker *w, const struct neigh_ask *ask);
