// SPDX-License-Identifier: BSD-3-Clause
// The rings between one stream thread and one worker, single producer, single consumer: up
// (messages of clients, reports of closed connections, used buffers), down (messages to clients,
// orders), handshakes (DTLS handshakes, which never wait for media), fill (empty buffers, because
// threads can be preempted and must not touch the pool: workers could spin on its lock). Only for
// the streams files.
#pragma once

#include <rte_ring.h>

#include "datapath.h"
#include "invariant.h"
#include "path/rewrite.h"
#include "path/worker.h"

#define STREAM_RINGS_HANDSHAKES 256 // datagrams of handshakes on their way to a thread
#define STREAM_RINGS_NOTES 256 // in addition: sessions that a thread must free
#define STREAM_RINGS_SPARE 64 // buffers that a thread keeps for its next messages
// Offset of a message: before it there is room for the headers of a datagram.
#define STREAM_RINGS_MESSAGE_AT REWRITE_ANSWER_AT

struct stream_rings {
	struct rte_ring *up, *down, *handshakes, *fill;
	// limit of waiting requests; entries of down up to which media may be added
	uint32_t asks_max, media_max;
	uint32_t fill_max; // limit of waiting empty buffers
	// Number of requests that have left the worker's backlog. The worker writes it.
	uint32_t done __rte_cache_aligned;
	uint64_t put; // entries that the worker has put into down
	// For the thread only.
	uint32_t asked; // requests passed on
	// buffers of the worker that it holds, without spare ones: up has room for all
	uint32_t held;
	struct rte_mbuf *spare[STREAM_RINGS_SPARE] __rte_cache_aligned;
	unsigned int nb_spare;
} __rte_cache_aligned;

// Part of the ring down that the media of one allocation takes, so that no allocation can keep out
// others. Entries are counted by their time of insertion, so that the thread need not report
// anything.
struct stream_share {
	uint64_t since; // value of stream_rings.put when `now` began
	// Entries since then, and older ones of which some may still be in the ring. The sum is
	// never less than the number in the ring.
	uint32_t now, before;
};

static inline struct stream_rings *stream_rings_of(
	const struct dp *d, unsigned int t, unsigned int w)
{
	return &d->stream_rings[t * d->nb_workers + w];
}

// Returns a buffer from the thread to the worker. Thread.
static inline void stream_rings_put_up(struct stream_rings *y, struct rte_mbuf *b)
{
	ASSERT(y->held > 0);
	y->held--;
	rte_ring_sp_enqueue(y->up, b); // ops.take and ops.receive have checked that there is room
}

// Wakes a worker that has to read or refill a ring.
static inline void stream_rings_kick(const struct dp *d, unsigned int w)
{
	waiter_kick_stream(&d->worker[w]->waiter);
}
