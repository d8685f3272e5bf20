// SPDX-License-Identifier: BSD-3-Clause
// handover.c: packets from worker to worker, and the rings that messages use too.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

#include "dp_burst.h"
#include "turn.h"
#include "worker.h"
#include "workers/mbuf_meta.h"

struct dp;
struct rte_mbuf;
struct rte_ring;

int handover_create(struct dp *d, int socket);
// A ring for one producer and one consumer, of count - 1 entries (count is a power of two), to be
// freed with rte_free; NULL without memory.
struct rte_ring *handover_ring(unsigned int count, int socket);
void handover_free(struct dp *d);
// Puts what waits for a worker on its ring; what finds no room there is dropped.
void handover_flush_one(struct worker *w, unsigned int dst);

static __rte_always_inline void handover_put(struct worker *w, unsigned int dst, struct rte_mbuf *m)
{
	struct outbox *o = &w->hand[dst];

	__asm__("" : "+r"(o)); // one address, or gcc works out one more for each member
	o->m[o->n++] = m;
	if (unlikely(o->n == DP_BURST))
		handover_flush_one(w, dst);
}

// Takes the packet. The view of a client's datagram has the hash of its client, where no NIC says
// whose it is (dp.homes_hashed).
static __rte_always_inline void handover_datagram(
	struct worker *w, unsigned int dst, struct rte_mbuf *m, const struct turn_view *v)
{
	struct mbuf_meta *p = mbuf_meta_of(m);

	p->kind = MBUF_META_DATAGRAM;
	p->datagram = *v;
	handover_put(w, dst, m);
}

// Hands over the datagrams of the burst whose clients turn_route_begin found to be elsewhere. False
// when nothing else is in the burst.
bool handover_clients(struct worker *w);
void handover_frame(struct worker *w, unsigned int dst, struct rte_mbuf *m, uint8_t port);
// Hands over a message that is to be sealed; mbuf_meta_of(m)->seal has been filled in. Takes the
// packet.
void handover_seal(struct worker *w, unsigned int dst, struct rte_mbuf *m);
// Hands over an ICMP error; mbuf_meta_of(m)->icmp has been filled in. Takes the packet.
void handover_icmp(struct worker *w, unsigned int dst, struct rte_mbuf *m);
void handover_flush(struct worker *w);
// Up to DP_BURST packets and messages from a worker, all counted as packets.
unsigned int handover_take(struct worker *w, unsigned int src, struct rte_mbuf **m);
// Counts what was taken and is a message as none.
static inline void handover_no_packet(struct worker *w, const struct mbuf_meta *p)
{
	w->live.handed_in -= !mbuf_meta_is_packet(p->kind);
}
