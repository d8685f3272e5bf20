// SPDX-License-Identifier: BSD-3-Clause
// handover.c: the way of packets and messages from worker to worker.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct dp;
struct net_neigh_msg;
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
// Likewise the clients of the burst whom turn_route_begin found to be elsewhere.
void handover_clients(struct worker *w);
void handover_frame(struct worker *w, unsigned int to, struct rte_mbuf *m, uint8_t port);
// Of what mbuf_meta_of(m)->seal says.
void handover_seal(struct worker *w, unsigned int to, struct rte_mbuf *m);
void handover_flush(struct worker *w);
// Up to DP_BURST packets from a worker. Messages among them are not datagrams and not counted.
unsigned int handover_take(struct worker *w, unsigned int from, struct rte_mbuf **m);
#define DP_MESSAGE_RATE 1000 // neighbour facts a worker tells the others, per second
// Tells every other worker what an ARP or ND packet said.
void message_neighbour(
	struct worker *w, uint8_t port, const struct net_neigh_msg *msg, bool from_ask);
// Tells a worker that the session v->stream of a DTLS client has ended. False: not now.
bool message_client_ended(struct worker *w, unsigned int to, const struct turn_view *v);
// Sends the redirect notes of the shard; what finds no room waits for the next call.
void message_notes(struct worker *w);
// Does what a message says and frees it.
void message_apply(struct worker *w, struct rte_mbuf *m);
