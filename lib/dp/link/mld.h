// SPDX-License-Identifier: BSD-3-Clause
// mld.c: telling switches and routers which IPv6 groups we listen to.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct net_frame;
struct rte_mbuf;
struct worker;

// Reports of a port that a worker still has to send.
struct mld {
	uint32_t seen; // value of dp_port.announce served last; worker 0 only
	uint32_t next; // group to report next
	uint8_t left; // rounds to go
	bool change; // they are news, no answers
	uint64_t at_ms, least_ms; // when the next round is due, and may be at the earliest
	uint64_t v1_ms; // until then there is a router of version 1
};

// Takes a query. False: it is none, and still the caller's.
bool mld_input(struct worker *w, uint8_t port, struct rte_mbuf *m, const struct net_frame *f);
// Sends what is due. Once a millisecond at most.
void mld_tick(struct worker *w);
// When mld_tick has something to do next, as things are now; UINT64_MAX: never.
uint64_t mld_next_ms(const struct worker *w);
