// SPDX-License-Identifier: BSD-3-Clause
// Reports to switches and routers which IPv6 groups we listen to.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct net_frame;
struct rte_mbuf;
struct worker;

// Reports of a port that a worker still has to send.
struct mld {
	uint32_t seen; // last value of dp_port.announce that was handled; worker 0 only
	uint32_t next; // group to report next
	uint8_t left; // remaining rounds
	bool change; // reports of changes, not answers
	uint64_t at_ms, least_ms; // time of the next round, and the earliest one allowed
	uint64_t v1_ms; // until then there is a router of version 1
};

// Consumes a query. False if it is no query; the caller keeps it.
bool mld_input(struct worker *w, uint8_t port, struct rte_mbuf *m, const struct net_frame *f);
// Sends reports that are due. Call it at most once a millisecond.
void mld_tick(struct worker *w);
// Next time at which mld_tick has work, given the current state; UINT64_MAX: never.
uint64_t mld_next_ms(const struct worker *w);
