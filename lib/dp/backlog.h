// SPDX-License-Identifier: BSD-3-Clause
// Requests that wait for their turn. A request costs what thirty relayed datagrams cost, so a
// worker puts all of them aside and answers some at the end of the round (backlog_share). So a
// storm of them never makes relaying wait long, and a receive ring does not overflow for it. Per
// client nothing overtakes: what it sends behind a request that waits waits too.
//
// There are two queues: one for clients we know by their 5-tuple alone (an allocation, a session, a
// connection), one for strangers. The known come first, except that one request in STRANGERS_TURN
// is a stranger's. Each queue has room of its own, and a client may have a quarter of the room that
// is left. So strangers, however many, cost no allocation its refresh, and who sends in the name of
// a client takes the room of that client. A session of DTLS costs no password: who has as many of
// them as there is room for, from the addresses that dtls.per-source takes, can fill the queue of
// the known. A request that finds no room is dropped and counted. Of those that came in fragments
// and are too long for an ordinary buffer, BACKLOG_LONG may wait in each queue. Clients over TCP
// and TLS, who do not ask twice, have room of their own here and no drops: while it is full their
// rings are not read, and stream threads ask no more than it holds (streams.c).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dp_view.h"
#include "hash.h"
#include "turn.h"

#define BACKLOG_BURST 32
#define BACKLOG_LONG 1 // packets of a queue in buffers for long datagrams: these are few

struct conf;
struct rte_mbuf;
struct worker;

// Clients of one hash value: positions of their first and last packet, how many they have.
struct backlog_bucket {
	uint16_t head, tail, n;
};

// A ring of packets in order of arrival, their views in their private area, chained by client.
struct backlog_queue {
	struct rte_mbuf **ring; // nb_slots entries, a power of two
	struct backlog_bucket *bucket; // nb_slots of them
	uint32_t *tag; // by position: whose it is, as far as a hash can tell, and its kind
	uint16_t *next; // by position: the next packet of the bucket
	uint32_t nb_slots;
	uint32_t head, n; // oldest packet, packets
	uint32_t longs; // packets in buffers for long datagrams
	uint32_t waiting[2]; // without those of streams: [1] requests, [0] what is behind them
};

enum backlog_whose { BACKLOG_KNOWN, BACKLOG_STRANGERS };

// One worker's.
struct backlog {
	struct hash_key key;
	struct backlog_queue queue[2]; // by enum backlog_whose
	void *mem;
	uint32_t max; // requests of a queue; as many again may wait behind those of their client
	uint32_t stream_max; // packets of stream clients
	uint32_t budget; // requests a round
	uint32_t n, streams; // packets in all; those of streams
	uint32_t waited; // rounds in which there was no time
	uint32_t turn; // requests of the known that went before one of strangers that waits
	uint32_t client_max; // packets of one kind of one client
	uint64_t relayed_ms; // the worker's time when something was last relayed
	bool full; // a burst of this round was: more may wait where it came from
};

// Makes an empty one for a worker. 0 or -ENOMEM.
int backlog_create(struct worker *w, int socket);
void backlog_free(struct backlog *b);
// Bytes of memory that backlog_create asks for.
size_t backlog_size(const struct conf *c);
// Whether backlog_take has to look at a datagram; hardly ever.
static inline bool backlog_concerns(const struct backlog *b, const struct turn_view *v)
{
	return v->leg == TURN_FROM_CLIENT && (b->n > 0 || dp_view_is_request(v));
}
// True when it took, or dropped, a datagram that backlog_concerns; false when that may be routed at
// once.
bool backlog_take(struct worker *w, struct rte_mbuf *m, const struct turn_view *v);
// Takes a ClientHello of DTLS, which waits as a request of a stranger does, whoever its client is:
// it may be in anybody's name. Nothing that its client sends waits behind it.
void backlog_hello(struct worker *w, struct rte_mbuf *m, const struct turn_view *v);
// To be told of each burst: how many packets were received for it and how many were relayed.
static inline void backlog_see(
	struct backlog *b, unsigned int received, unsigned int relayed, uint64_t now_ms)
{
	if (relayed > 0)
		b->relayed_ms = now_ms;
	b->full |= received == BACKLOG_BURST;
}
// Whether a burst of a stream thread finds room, whatever is in it.
static inline bool backlog_has_room(const struct backlog *b)
{
	return b->streams + BACKLOG_BURST <= b->stream_max;
}
// Fills w->burst with what is to be routed now, once a round when all queues have been read.
// Returns how many.
unsigned int backlog_fill(struct worker *w);
// Drops all; the worker is no longer running.
void backlog_drain(struct worker *w);
