// SPDX-License-Identifier: BSD-3-Clause
// Acts as a host on the link: ARP, neighbour discovery, ICMP.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct neigh_ask;
struct net_frame;
struct rte_mbuf;
struct worker;

// Announces each address of a port three times, a second apart. Worker 0 only.
struct announcement {
	uint32_t seen; // last value of dp_port.announce that was handled
	uint32_t next; // address to announce next
	uint8_t left; // remaining rounds
	uint64_t at_ms;
};

// Consumes every ARP, ICMP and ICMPv6 packet.
void host_input(struct worker *w, uint8_t port, struct rte_mbuf *m, const struct net_frame *f);
// Announces addresses of ports whose link has come up. Worker 0 only.
void host_announce_tick(struct worker *w);
// Next time at which host_announce_tick has work, given the current state; UINT64_MAX: never.
uint64_t host_announce_next_ms(const struct worker *w);
// Asks for a neighbour.
void host_ask(struct worker *w, const struct neigh_ask *ask);
