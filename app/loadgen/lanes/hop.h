// SPDX-License-Identifier: BSD-3-Clause
// Next hops of both sides: the MAC addresses that lead to a destination.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addr.h"

#define HOPS_MAX 1024

struct engine;
struct lane;

// One next hop. Entries are only ever added, under the lock. mac is read and written as one word.
struct hop {
	struct addr target; // an on-link destination, or the side's gateway
	uint8_t side;
	uint64_t mac; // HOP_KNOWN | MAC, its first byte lowest in memory; 0 = not known
	uint64_t asked_ms; // time of the last request for it; lane 0 only
};

#define HOP_KNOWN (UINT64_C(1) << 48)
#define HOP_NONE UINT16_MAX

// Returns the next hop to dst on a side and adds it if it is new. HOP_NONE when dst cannot be
// reached or the table is full. Any lane.
uint16_t hop_to(struct engine *e, unsigned int side, const struct addr *dst);
// Stores the MAC of `addr` from an ARP or ND message that arrived on a side. Any lane.
void hop_learn(struct engine *e, unsigned int side, const struct addr *addr, const uint8_t mac[6]);
// Sends requests for next hops that have not answered yet, and from time to time for the others.
// Lane 0.
void hop_tick(struct lane *l);
// Writes the first next hop without an answer as text for a message. False when all are known.
bool hop_missing(const struct engine *e, char *text, size_t len);
