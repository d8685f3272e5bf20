// SPDX-License-Identifier: BSD-3-Clause
// Clients over TCP and TLS: messages from and to their threads.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stream.h"
#include "workers/mbuf_meta.h"

struct conf;
struct dp;
struct net_frame;
struct rewrite;
struct rte_mbuf;
struct turn_view;
struct worker;

// Makes rings and tables if the configuration needs stream threads. Call it after the workers were
// made. Returns 0 or -ENOMEM.
int streams_create(struct dp *d, int socket);
// Storage that a struct stream_config points to.
struct streams_listeners {
	struct stream_listener list[STREAM_LISTENERS_MAX];
	struct stream_identities identities;
};

// Writes the settings of c to out, which points into c and into *listeners.
void streams_config(struct dp *d, const struct conf *c, struct streams_listeners *listeners,
	struct stream_config *out);
// Opens the listeners and runs the threads. Returns 0, or -1 with the reason in error.
int streams_start(struct dp *d, char *error, size_t len);
// Stops the threads; workers may continue.
void streams_stop(struct dp *d);
// Frees the content of the rings. Call it after threads and workers have stopped.
void streams_drain(struct dp *d);
void streams_free(struct dp *d);
// Bytes of memory that streams_create allocates, without the tables by slot. The second function is
// for these tables of a worker with `slots` slots.
size_t streams_size(const struct conf *c);
size_t streams_slots_size(const struct conf *c, uint32_t slots);
extern const struct stream_ops streams_ops; // ctx is the struct dp

// Takes up to DP_BURST messages of clients from a thread and counts them as received. *taken:
// number of entries of any kind that came off the ring. Closed connections wait for streams_settle,
// which the caller calls after routing the burst: their last messages come first.
unsigned int streams_take(
	struct worker *w, unsigned int thread, struct rte_mbuf **m, unsigned int *taken);
void streams_settle(struct worker *w);
// Call it when a request of a stream client has left the backlog: its thread may pass on another
// one.
void streams_asked(struct worker *w, const struct turn_view *v);
// Sends an answer to the client of v, whose request is in m. Consumes the packet.
void streams_reply(struct worker *w, struct rte_mbuf *m, const struct turn_view *v,
	const uint8_t *answer, uint16_t len);
// Sends a message in m that is no answer to the thread of the client of v, whose request was in m.
// Consumes the packet.
void streams_send(
	struct worker *w, struct rte_mbuf *m, const struct turn_view *v, enum mbuf_meta_down kind);
// Sends a peer's datagram to the client of slot v->slot; front, off and len of r are used. Consumes
// the packet.
void streams_forward(
	struct worker *w, struct rte_mbuf *m, const struct turn_view *v, const struct rewrite *r);
// Describes a client's message as if it had come in a datagram, for rewrite_frame.
void streams_describe(const struct rte_mbuf *m, const struct turn_view *v, struct net_frame *f);
// Records the connection or DTLS session of the client of a slot; 0: it has no connection.
void streams_connect(struct worker *w, uint32_t slot, uint64_t conn);
// Records the connection or DTLS session v->stream of a view's client for its allocation. Returns
// the remaining lifetime of the allocation in seconds; 0 if there is no allocation. If alive is
// false the allocation ends at once, or waits for the client to move.
uint32_t streams_lease(struct worker *w, const struct turn_view *v, bool alive);
// Ends the allocation of the client whose connection or session v->stream was closed, unless it may
// move.
void streams_end(struct worker *w, const struct turn_view *v);
// The cipher of a TLS connection; NULL if it is not encrypted, or closed.
const char *streams_cipher(const struct worker *w, uint64_t conn);
// Gives a packet of kind MBUF_META_DTLS or MBUF_META_DTLS_NOTE to a thread. False if there is no
// room; the caller keeps the packet. Notes have room of their own.
bool streams_give(struct worker *w, unsigned int thread, struct rte_mbuf *m);
// Wakes the threads that have new messages from this round.
void streams_wake(struct worker *w);
