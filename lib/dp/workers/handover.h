// SPDX-License-Identifier: BSD-3-Clause
// handover.c: packets from worker to worker, and the rings that messages use too.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct dp;
struct rte_mbuf;
struct rte_ring;
struct turn_view;
struct worker;

int handover_create(struct dp *d, int socket);
// A ring for one producer and one consumer, of count - 1 entries (count is a power of two), to be
// freed with rte_free; NULL without memory.
struct rte_ring *handover_ring(unsigned int count, int socket);
void handover_free(struct dp *d);
// Takes the packet.
void handover_datagram(
	struct worker *w, unsigned int to, struct rte_mbuf *m, const struct turn_view *v);
// Hands over the datagrams of the burst whose clients turn_route_begin found to be elsewhere.
void handover_clients(struct worker *w);
void handover_frame(struct worker *w, unsigned int to, struct rte_mbuf *m, uint8_t port);
// Hands over a message that is to be sealed; mbuf_meta_of(m)->seal has been filled in. Takes the
// packet.
void handover_seal(struct worker *w, unsigned int to, struct rte_mbuf *m);
// Hands over an ICMP error; mbuf_meta_of(m)->icmp has been filled in. Takes the packet.
void handover_icmp(struct worker *w, unsigned int to, struct rte_mbuf *m);
void handover_flush(struct worker *w);
// Up to DP_BURST packets from a worker. Messages among them are not datagrams and not counted.
unsigned int handover_take(struct worker *w, unsigned int from, struct rte_mbuf **m);
