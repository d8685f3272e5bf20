// SPDX-License-Identifier: BSD-3-Clause
// Six clients with a peer each, every pair of families, and datagrams for them that a port receives
// one by one or in super-frames.
#pragma once

#include "dp_world.h"
#include "port.h"

#define GSO_CLIENTS 6
#define GSO_CHANNEL 0x4001
#define GSO_BURST_MAX 300

extern struct dp_world world;
extern struct world_client client[GSO_CLIENTS];
extern struct endpoint peer[GSO_CLIENTS];
extern const struct port_super gso_granted;

// A sent datagram and its expected arrival.
struct gso_sent {
	struct world_datagram in;
	struct endpoint src, dst;
	unsigned int client, leg;
	uint16_t off, front; // payload's offset in in.data; bytes before it on arrival
};
extern struct gso_sent sent[GSO_BURST_MAX];
extern unsigned int nb_sent;

// Opens the world; each client has a channel to its peer.
void gso_open(const struct world_setup *s);
struct port *gso_port(void);
// Makes the next element of sent: len random bytes from client i to its peer (up), or back.
struct gso_sent *gso_make(unsigned int i, bool up, uint16_t len, const struct world_datagram *like);
// Asserts that a datagram has arrived as RFC 8656 requires, as the next one of its flow.
void gso_arrives(const struct gso_sent *s);
// Asserts that for all of sent, and that nothing else has arrived.
void gso_all_arrive(void);
// Asserts that each allocation has counted its received datagrams.
void gso_all_counted(void);
// sent[first, first + n), of one flow and, except the last, of one size, as one chain of buffers of
// up to step bytes.
struct rte_mbuf *gso_whole(unsigned int first, unsigned int n, uint32_t step);
