// SPDX-License-Identifier: BSD-3-Clause
// The rings between one stream thread and one worker, single producer, single consumer: up
// (messages of clients, news of connections that have ended, buffers done with), down (messages to
// clients, orders), shakes (what belongs to DTLS handshakes, which no media is in front of), fill
// (empty buffers, so that threads that can be preempted never touch the pool that workers must not
// wait for). For the files of streams alone.
#pragma once

#include <rte_ring.h>

#include "datapath.h"
#include "rewrite.h"
#include "worker.h"

#define STREAM_WAY_SHAKES 256 // datagrams of handshakes on their way to a thread
#define STREAM_WAY_NOTES 256 // beyond these: sessions that a thread is to free
#define STREAM_WAY_ADMITS 64 // on the way down, beyond media: orders to admit a peer
#define STREAM_WAY_SPARE 64 // buffers that a thread keeps for what comes next
// Where a message begins: in front of it there is room for the headers of a datagram.
#define STREAM_WAY_MESSAGE_AT REWRITE_ANSWER_AT

struct stream_way {
	struct rte_ring *up, *down, *shakes, *fill;
	uint32_t asks_max, media_max; // requests that wait; on the way down with media behind it
	uint32_t fill_max; // empty buffers that wait
	// Requests that have come out of the worker's backlog; written by the worker.
	uint32_t done __rte_cache_aligned;
	uint64_t put; // entries that the worker has put on the way down
	// For the thread alone.
	uint32_t asked; // requests given
	uint32_t held; // buffers of the worker's that it has, spare ones apart: up has room for all
	struct rte_mbuf *spare[STREAM_WAY_SPARE] __rte_cache_aligned;
	unsigned int nb_spare;
} __rte_cache_aligned;

// What of the way down an allocation's media has: nobody's may keep that of others out. Entries are
// counted by when they were put there, so that the thread has nothing to tell.
struct stream_share {
	uint64_t since; // stream_way.put when `now` began
	// Entries since then, and those before of which some may be there: together never fewer
	// than there are.
	uint32_t now, before;
};

static inline struct stream_way *stream_way_of(const struct dp *d, unsigned int t, unsigned int w)
{
	return &d->stream_way[t * d->nb_workers + w];
}

// Gives the worker a buffer that the thread has. Thread.
static inline void stream_way_put_up(struct stream_way *y, struct rte_mbuf *b)
{
	y->held--;
	rte_ring_sp_enqueue(y->up, b); // ops.take and ops.receive have seen that there is room
}

// Wakes a worker, which has been given something or is to give something.
static inline void stream_way_kick(const struct dp *d, unsigned int w)
{
	waiter_kick_stream(&d->worker[w]->waiter);
}
