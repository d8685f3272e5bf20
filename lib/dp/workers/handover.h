// SPDX-License-Identifier: BSD-3-Clause
// Passes packets and messages between workers over rings.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

#include "dp_burst.h"
#include "invariant.h"
#include "turn.h"
#include "path/worker.h"
#include "workers/mbuf_meta.h"

struct dp;
struct rte_mbuf;
struct rte_ring;

// Makes the rings between all workers, and sets d->homes_hashed. Returns 0 or -ENOMEM; the caller
// then calls handover_free.
int handover_create(struct dp *d, int socket);
// Makes a ring for one producer and one consumer, with count - 1 entries (count is a power of two).
// The caller frees it with rte_free. NULL if memory is short.
struct rte_ring *handover_ring(unsigned int count, int socket);
void handover_free(struct dp *d);
// Moves the packets that wait for worker dst to the ring. Packets for which it has no room are
// dropped.
void handover_flush_one(struct worker *w, unsigned int dst);

static __rte_always_inline void handover_put(struct worker *w, unsigned int dst, struct rte_mbuf *m)
{
	struct outbox *o = &w->hand[dst];

	__asm__("" : "+r"(o)); // otherwise gcc computes an address for each member
	ASSERT(o->n < DP_BURST && dst < TURN_WORKERS_MAX);
	o->m[o->n++] = m;
	if (unlikely(o->n == DP_BURST))
		handover_flush_one(w, dst);
}

// Hands over a datagram and consumes the packet. With dp.homes_hashed (no NIC decides the home of a
// client) the view of a client's datagram must contain the hash of the client.
static __rte_always_inline void handover_datagram(
	struct worker *w, unsigned int dst, struct rte_mbuf *m, const struct turn_view *v)
{
	struct mbuf_meta *p = mbuf_meta_of(m);

	p->kind = MBUF_META_DATAGRAM;
	p->datagram = *v;
	handover_put(w, dst, m);
}

// Hands over the datagrams that turn_route_begin has listed in elsewhere: their clients have
// another home. False if no other datagram is in the burst.
bool handover_clients(struct worker *w);
// Hands over a frame that came in on `port`. Consumes the packet.
void handover_frame(struct worker *w, unsigned int dst, struct rte_mbuf *m, uint8_t port);
// Hands over a message to encrypt, with mbuf_meta_of(m)->seal filled in. Consumes the packet.
void handover_seal(struct worker *w, unsigned int dst, struct rte_mbuf *m);
// Hands over an ICMP error, with mbuf_meta_of(m)->icmp filled in. Consumes the packet.
void handover_icmp(struct worker *w, unsigned int dst, struct rte_mbuf *m);
// Moves all packets that wait for workers to their rings.
void handover_flush(struct worker *w);
// Takes up to DP_BURST packets and messages that worker src handed over. Counts them all as
// packets.
unsigned int handover_take(struct worker *w, unsigned int src, struct rte_mbuf **m);
// Corrects the count of handover_take if p belongs to a message.
static inline void handover_no_packet(struct worker *w, const struct mbuf_meta *p)
{
	w->live.handed_in -= !mbuf_meta_is_packet(p->kind);
}
