// SPDX-License-Identifier: BSD-3-Clause
// Queues for requests. A request costs as much as thirty relayed datagrams, so a worker queues all
// requests and answers some of them at the end of each round (backlog_share). A storm of requests
// therefore delays relaying only a little and overflows no receive queue. The packets of one client
// stay in order: while one of its requests waits, everything that the client sends after it waits,
// too.
//
// There are two queues: one for known clients (their 5-tuple has an allocation, a session or a
// connection), one for strangers. Known clients come first, except that one request in
// STRANGERS_TURN is a stranger's. Each queue has its own room, and one client may take a quarter of
// the room that is left. So strangers, however many, cost no allocation its refresh, and an
// attacker who spoofs a client takes that client's room only. A DTLS session needs no password:
// whoever opens sessions up to the limit, from as many addresses as dtls.per-source requires, can
// fill the queue of known clients. A request that finds no room is dropped and counted. At most
// BACKLOG_LONG requests in each queue may be too long for an ordinary buffer (they arrived in
// fragments). Clients over TCP and TLS do not retransmit, so their requests have separate room
// here, and none is dropped: while that room is full their rings are not read, and stream threads
// pass on no more than it holds (streams.c).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dp_view.h"
#include "hash.h"
#include "turn.h"

#define BACKLOG_BURST 32
#define BACKLOG_LONG 1 // packets of a queue in buffers for long datagrams, which are few

struct conf;
struct rte_mbuf;
struct worker;

// Clients with the same hash value: positions of their first and last packet, and their number of
// packets.
struct backlog_bucket {
	uint16_t head, tail, n;
};

// A ring of packets in order of arrival, chained by client. Their views are in the mbufs' private
// areas.
struct backlog_queue {
	struct rte_mbuf **ring; // nb_slots entries, a power of two
	struct backlog_bucket *bucket; // nb_slots entries
	uint32_t *tag; // by position: a hash of the client, and the kind of packet
	uint16_t *next; // by position: the next packet of the bucket
	uint32_t nb_slots;
	uint32_t head, n; // oldest packet, packets
	uint32_t longs; // packets in buffers for long datagrams
	// packets not from streams: [1] requests, [0] datagrams queued after them
	uint32_t waiting[2];
};

enum backlog_queue_id { BACKLOG_KNOWN, BACKLOG_STRANGERS };

// Backlog of one worker.
struct backlog {
	struct hash_key key;
	struct backlog_queue queue[2]; // by enum backlog_queue_id
	void *mem;
	// requests in a queue; as many other packets may wait after requests of their client
	uint32_t max;
	uint32_t stream_max; // packets of stream clients
	uint32_t budget; // requests per round
	uint32_t n, streams; // all packets; those from streams
	uint32_t waited; // rounds in which there was no time for requests
	uint32_t turn; // requests of known clients answered since the last one of a stranger
	uint32_t client_max; // packets of one kind that one client may have
	uint64_t relayed_ms; // time of the worker when it last relayed something
	bool full; // a burst of this round was full: more packets may wait at its source
};

// Makes an empty backlog for a worker. Returns 0 or -ENOMEM.
int backlog_create(struct worker *w, int socket);
void backlog_free(struct backlog *b);
// Bytes of memory that backlog_create allocates.
size_t backlog_size(const struct conf *c);
// True if backlog_take has to look at a datagram, which is rare.
static inline bool backlog_concerns(const struct backlog *b, const struct turn_view *v)
{
	return v->leg == TURN_FROM_CLIENT && (b->n > 0 || dp_view_is_request(v));
}
// Queues or drops a datagram for which backlog_concerns has returned true. True if it did so. False
// if the datagram may be routed at once.
bool backlog_take(struct worker *w, struct rte_mbuf *m, const struct turn_view *v);
// Queues a ClientHello of DTLS like a request of a stranger, even if its client is known: its
// source address may be spoofed. Later packets of its client do not wait for it.
void backlog_hello(struct worker *w, struct rte_mbuf *m, const struct turn_view *v);
// Call it for each burst with the numbers of packets received and relayed.
static inline void backlog_note_burst(
	struct backlog *b, unsigned int received, unsigned int relayed, uint64_t now_ms)
{
	if (relayed > 0)
		b->relayed_ms = now_ms;
	b->full |= received == BACKLOG_BURST;
}
// True if there is room for any burst of a stream thread.
static inline bool backlog_has_room(const struct backlog *b)
{
	return b->streams + BACKLOG_BURST <= b->stream_max;
}
// Fills w->burst with the packets to route now. Called once per round, after all queues were read.
// Returns their number.
unsigned int backlog_fill(struct worker *w);
// Drops all packets, after the worker has stopped.
void backlog_drain(struct worker *w);
