// SPDX-License-Identifier: BSD-3-Clause
// streams.c: clients over TCP and TLS, the way to their threads.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream.h"

struct conf;
struct dp;
struct net_frame;
struct rewrite;
struct rte_mbuf;
struct turn_view;
struct worker;

// Makes rings and tables, once there are workers, if there are such listeners. 0 or -ENOMEM.
int streams_create(struct dp *d, int socket);
// What a struct stream_config points to.
struct streams_listeners {
	struct stream_listener list[STREAM_LISTENERS_MAX];
	struct stream_identities identities;
};

// Writes what c says of them to out, which points into c and to what is written to of.
void streams_config(struct dp *d, const struct conf *c, struct streams_listeners *listeners,
	struct stream_config *out);
// Opens the listeners and runs the threads. 0, or -1 with the reason in error.
int streams_start(struct dp *d, char *error, size_t len);
// Ends the threads; workers may run on.
void streams_stop(struct dp *d);
// Frees what is on the rings; neither threads nor workers run any more.
void streams_drain(struct dp *d);
void streams_free(struct dp *d);
// Bytes of memory that streams_create asks for, without the tables by slot; and of these, for a
// worker with so many.
size_t streams_size(const struct conf *c);
size_t streams_slots_size(const struct conf *c, uint32_t slots);
extern const struct stream_ops streams_ops; // ctx is the struct dp

// Up to DP_BURST messages of clients from a thread, counted as received. *taken: how many entries
// of any kind came off the ring. Connections that have ended wait for streams_settle, which is to
// be called when the burst has been routed: their last messages come first.
unsigned int streams_take(
	struct worker *w, unsigned int thread, struct rte_mbuf **m, unsigned int *taken);
void streams_settle(struct worker *w);
// A request of a stream client has left the backlog: its thread may ask for another.
void streams_asked(struct worker *w, const struct turn_view *v);
// Sends an answer to the client of v, whose request m was. Takes the packet.
void streams_reply(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	const uint8_t *answer, uint16_t len);
// Gives the order that m holds to the thread of the client of v, whose request m was. Takes the
// packet.
void streams_order(struct worker *w, struct rte_mbuf *m, const struct turn_view *v);
// Sends what a peer has sent to slot v->slot; front, off and len of r are used. Takes the packet.
void streams_forward(
	struct worker *w, struct rte_mbuf *m, const struct turn_view *v, const struct rewrite *r);
// Describes a client's message as if it had come in a datagram, for rewrite_frame.
void streams_describe(const struct rte_mbuf *m, const struct turn_view *v, struct net_frame *f);
// Notes the connection or DTLS session of the client of a slot; 0: it has none.
void streams_connect(struct worker *w, uint32_t slot, uint64_t conn);
// Notes the connection or DTLS session, v->stream, of a view's client beside its allocation, and
// returns how many seconds the allocation has to live; 0: there is none. If the client is not alive
// its allocation ends at once, or waits for the client to move.
uint32_t streams_lease(struct worker *w, const struct turn_view *v, bool alive);
// The connection or session v->stream has ended: so does the allocation of its client, unless that
// may move.
void streams_end(struct worker *w, const struct turn_view *v);
// The cipher of a connection over TLS; NULL: it is plain, or has ended.
const char *streams_cipher(const struct worker *w, uint64_t conn);
// Gives a packet of kind MBUF_META_DTLS or MBUF_META_DTLS_NOTE to a thread; false: there is no room
// for it, and the packet is the caller's. Notes have room that datagrams have not.
bool streams_give(struct worker *w, unsigned int thread, struct rte_mbuf *m);
// Gives the thread of a connection the order to admit a peer. False: there is no room for it, and
// the packet is the caller's.
bool streams_admit(struct worker *w, struct rte_mbuf *m, uint64_t conn);
// Wakes the threads that this round has left something for.
void streams_wake(struct worker *w);
