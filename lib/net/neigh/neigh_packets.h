// SPDX-License-Identifier: BSD-3-Clause
// Packets that the neighbour table holds until a neighbour answers: one chain for each neighbour,
// oldest first, all in one array. PURE; one thread at a time.
#pragma once

#include <stdint.h>

#include "neigh/neigh_shares.h"
#include "net.h"

struct neigh_packet {
	void *packet;
	uint16_t next; // in its chain or in the list of free entries; NEIGH_NONE at the end
	uint8_t share;
};

// The packets of one neighbour.
struct neigh_chain {
	uint16_t first, last; // in packet[], or NEIGH_NONE
	uint16_t nb;
};

#define NEIGH_CHAIN_EMPTY ((struct neigh_chain){NEIGH_NONE, NEIGH_NONE, 0})

struct neigh_packets {
	struct neigh_packet *packet;
	uint16_t total, each; // most packets, and most of one chain
	uint16_t free, nb;
	uint16_t by_share[NEIGH_SHARE_NONE + 1]; // parts of nb, by share
};

// Uses mem for `total` packets from then on; the rest of *p must be zero.
void neigh_packets_init(struct neigh_packets *p, void *mem, uint16_t total, uint16_t each);
// Returns how many more packets a chain may get, paid by a share.
unsigned int neigh_packets_room(
	const struct neigh_packets *p, const struct neigh_chain *c, uint8_t share);
// Adds a packet to a chain that has room.
void neigh_packets_add(struct neigh_packets *p, struct neigh_chain *c, void *packet, uint8_t share);
// Takes the oldest packet of a chain that is not empty.
void *neigh_packets_take(struct neigh_packets *p, struct neigh_chain *c);
