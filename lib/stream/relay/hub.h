// SPDX-License-Identifier: BSD-3-Clause
// What all stream threads share of relaying over TCP (RFC 6062): allocations with their ports, the
// connections of peers, and how many each user has. A connection that a client asks for on one
// thread may be bound on another, so there is one table under one lock. Nothing that carries bytes
// takes the lock. Private to lib/stream.
#pragma once

#include <pthread.h>

#include "bitset.h"
#include "bucket.h"
#include "hash.h"
#include "relay/stream_relay.h"

#define HUB_NONE UINT32_MAX
#define HUB_CONNECTS 8192 // buckets for the Connects of users
#define HUB_UNJUDGED 8 // connections to a port that wait for a worker's word, at most
// What a thread does at most in one go with the lock: a look counts as 1, an end, which takes some
// system calls, as END_COST.
#define HUB_PORTION 512
#define HUB_END_COST 32

// An allocation. Its place is its index.
struct hub_alloc {
	struct stream_place place; // allocation 0: there is none
	uint64_t control; // the client's connection
	struct endpoint relayed;
	// Who may bind its connections: by the newest access token, and the one before it. The same
	// where there are none.
	uint8_t binder[2][STREAM_IDENT_LEN];
	char device[STREAM_DEVICE_LEN]; // the kernel's interface; "" = whichever
	uint32_t user; // index
	uint32_t nb; // connections, those that wait to be judged included
	uint32_t unjudged;
	int fd; // that listens; -1 = none
	uint8_t thread; // that has fd
	uint8_t worker, listener;
	bool paused; // epoll does not look at fd
	bool failed; // the port was not opened, and the worker is still to be told
};

enum hub_state {
	HUB_FREE,
	HUB_WAITING, // until another one with the peer has ended (again.h)
	HUB_CONNECTING, // to the peer
	HUB_ACCEPTED, // and to be judged by the worker
	HUB_PENDING, // the client is to bind it
	HUB_BOUND, // its thread carries bytes
};

struct splice;

// A connection of a peer.
struct hub_conn {
	struct stream_place owner; // allocation
	struct endpoint peer;
	uint64_t control; // the client's connection that asked for it
	uint64_t since_ms; // that it is in its state
	uint64_t asked_ms; // HUB_ACCEPTED: when its worker was asked last
	// CONNECTING: those to the Connect, len[DONE] and len[FAILED] bytes. WAITING: its order
	// with all answers.
	uint8_t *answers;
	struct splice *splice; // BOUND
	uint16_t len[2];
	uint32_t id; // CONNECTION-ID; 0 = none yet
	uint32_t serial; // grows with each connection in this place
	uint32_t user;
	uint32_t client; // BOUND: index of the client's connection on the thread
	uint32_t next_id, next_peer; // chains; next_id also of what is free
	// The other end in process, and its serial; HUB_NONE: it is in no process of ours.
	uint32_t mate, mate_serial;
	int fd; // WAITING: an eventfd, to be told that it may go on
	bool asked; // by a Connect; else the peer has connected
	bool cut; // in process, what comes ends too early: the mate's thread says so
	bool wanted; // a Connect waits for its end; its thread reads that
	uint8_t state; // enum hub_state
	uint8_t thread; // whose epoll has fd
	uint8_t worker, listener;
};

// A user of some realm who has allocations or connections.
struct hub_user {
	uint8_t ident[STREAM_IDENT_LEN];
	uint8_t realm;
	uint32_t allocations, connections;
	uint32_t next;
};

struct hub {
	pthread_mutex_t lock; // guards all; recursive
	struct stream_relay conf;
	struct hash_key key;
	struct hub_alloc *alloc; // conf.ports
	struct hub_conn *conn; // conf.connections
	struct bitset untold; // of these, HUB_ACCEPTED: whose worker is still to be asked
	void *untold_mem;
	struct hub_user *user; // as many as both together
	struct bucket connects[HUB_CONNECTS]; // by user
	uint32_t *by_id, *by_peer, *by_user; // heads of chains
	uint32_t mask; // of these
	uint32_t used, free, nb; // of connections: were used at some time, head of free, number
	uint32_t free_user, used_users;
};

// NULL without memory.
struct hub *hub_create(const struct stream_relay *conf);
// Closes all that is open. No thread runs any more.
void hub_free(struct hub *h);

// All below want the lock.

// Forgets what had the place, and begins an allocation there; fd is -1. NULL: its place is none.
struct hub_alloc *hub_alloc_begin(struct hub *h, const struct stream_order *o);
// The allocation of a place; NULL: it is not there any more.
struct hub_alloc *hub_alloc_of(struct hub *h, const struct stream_place *p);
// Closes its port and forgets it. Its connections end when their threads see that it is gone.
void hub_alloc_end(struct hub *h, struct hub_alloc *a);

// The newest connection that a Connect of an allocation has made to a peer, or is about to make;
// NULL: there is none.
struct hub_conn *hub_conn_of_peer(
	struct hub *h, const struct stream_place *p, const struct endpoint *peer);
// Whether an allocation may have one more.
bool hub_may(const struct hub *h, const struct hub_alloc *a);
// Whether the user of an allocation may have one more Connect now; if so it is counted.
bool hub_may_connect(struct hub *h, const struct hub_alloc *a, uint64_t now_ms);
// Begins a connection of an allocation that may have it, in state with fd.
struct hub_conn *hub_conn_begin(
	struct hub *h, struct hub_alloc *a, const struct endpoint *peer, int fd);
// Gives it the number that the client knows. False: another one has that.
bool hub_conn_name(struct hub *h, struct hub_conn *c, uint32_t id);
struct hub_conn *hub_conn_find(struct hub *h, uint32_t id);
// Makes two of them the ends of one connection in process, which no kernel resets.
void hub_conn_pair(struct hub *h, struct hub_conn *a, struct hub_conn *b);
// Tells the other end in process, if there is one, that what comes to it ends too early.
void hub_conn_cut(struct hub *h, const struct hub_conn *c);
// Closes a connection and forgets it.
void hub_conn_end(struct hub *h, struct hub_conn *c);
// Takes the user of an order as one who may bind the allocation's connections.
void hub_alloc_rekey(struct hub_alloc *a, const struct stream_order *o);
// Whether the user of an order may bind a connection, whose allocation is there.
bool hub_is_user(struct hub *h, const struct hub_conn *c, const struct stream_order *o);

static inline uint32_t hub_index(const struct hub *h, const struct hub_conn *c)
{
	return (uint32_t)(c - h->conn);
}
