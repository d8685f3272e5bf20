// SPDX-License-Identifier: BSD-3-Clause
// Shared state of relaying over TCP (RFC 6062): allocations with their ports, connections with
// peers, and counts per user. A connection that a client requests on one thread may be bound on
// another, so all stream threads share one table and one lock. Transferring bytes does not take the
// lock. Private to lib/stream.
#pragma once

#include <pthread.h>

#include "tables/bitset.h"
#include "rates/bucket.h"
#include "hash.h"
#include "stream_relay.h"

#define HUB_NONE UINT32_MAX
#define HUB_CONNECTS 8192 // rate buckets for the Connects of users
#define HUB_UNJUDGED 8 // limit of connections to a port that wait for the worker's decision
// Maximum work of a thread while it holds the lock. A check costs 1. Closing a connection costs
// HUB_END_COST, because it takes several system calls.
#define HUB_PORTION 512
#define HUB_END_COST 32

// An allocation, at the index of its relay port.
struct hub_alloc {
	struct stream_alloc id; // allocation 0: no allocation
	uint64_t control; // the client's control connection
	struct endpoint relayed;
	// Users that may bind its connections: of the newest access token and of the one before it.
	// Both are equal without access tokens.
	uint8_t binder[2][STREAM_IDENT_LEN];
	char device[STREAM_DEVICE_LEN]; // the kernel interface; "" = any
	uint32_t user; // index
	uint32_t nb; // connections, including those not judged yet
	uint32_t unjudged;
	int fd; // listening socket; -1 = none
	uint8_t thread; // the thread that watches fd
	uint8_t worker, listener;
	bool paused; // epoll does not watch fd
	bool failed; // the port was not opened, and the worker does not know yet
};

enum hub_state {
	HUB_FREE,
	HUB_WAITING, // for the end of another connection with the peer (again.h)
	HUB_CONNECTING, // to the peer
	HUB_ACCEPTED, // accepted; the worker has to decide
	HUB_PENDING, // the client has to bind it
	HUB_BOUND, // its thread transfers bytes
};

struct splice;

// A connection of a peer.
struct hub_conn {
	struct stream_alloc owner; // allocation
	struct endpoint peer;
	uint64_t control; // the client's connection that requested it
	uint64_t since_ms; // when it entered its state
	uint64_t asked_ms; // HUB_ACCEPTED: time of the last question to its worker
	// CONNECTING: the two answers to the Connect, len[DONE] and len[FAILED] bytes. WAITING: its
	// order with all answers.
	uint8_t *answers;
	struct splice *splice; // BOUND
	uint16_t len[2];
	uint32_t id; // CONNECTION-ID; 0 = none yet
	uint32_t serial; // incremented by each connection in this entry
	uint32_t user;
	uint32_t client; // BOUND: index of the client's connection on the thread
	uint32_t next_id, next_peer; // hash chains; next_id: also the free list
	// The other end of an in-process connection, and its serial; else HUB_NONE.
	uint32_t mate, mate_serial;
	int fd; // WAITING: an eventfd that signals the end of the wait
	bool asked; // requested by a Connect; else the peer has connected
	bool cut; // in-process: its input ends too early, as the mate's thread reports
	bool wanted; // a Connect waits for its end; read by its thread
	uint8_t state; // enum hub_state
	uint8_t thread; // the thread whose epoll watches fd
	uint8_t worker, listener;
};

// A user of a realm with allocations or connections.
struct hub_user {
	uint8_t ident[STREAM_IDENT_LEN];
	uint8_t realm;
	uint32_t allocations, connections;
	uint32_t next;
};

struct hub {
	pthread_mutex_t lock; // guards everything; recursive
	struct stream_relay conf;
	struct hash_key key;
	struct hub_alloc *alloc; // conf.ports
	struct hub_conn *conn; // conf.connections
	struct bitset untold; // HUB_ACCEPTED connections not yet reported to their worker
	void *untold_mem;
	struct hub_user *user; // conf.ports + conf.connections
	struct bucket connects[HUB_CONNECTS]; // by user
	uint32_t *by_id, *by_peer, *by_user; // heads of chains
	uint32_t mask; // mask of their hashes
	uint32_t rules; // incremented by each change of the peer rules, without the lock
	uint32_t used, free, nb; // of connections: entries ever used, head of the free list, number
	uint32_t free_user, used_users;
};

// NULL without memory.
struct hub *hub_create(const struct stream_relay *conf);
// Closes all sockets. No thread may run any more.
void hub_free(struct hub *h);

// All following functions need the lock.

// Removes the last allocation of the port, and begins a new one; fd is -1. NULL if the index is
// invalid.
struct hub_alloc *hub_alloc_begin(struct hub *h, const struct stream_order *o);
// Returns the allocation with this ID, or NULL if it has ended.
struct hub_alloc *hub_alloc_of(struct hub *h, const struct stream_alloc *p);
// Closes its port and removes it. Threads close its connections when they notice.
void hub_alloc_end(struct hub *h, struct hub_alloc *a);

// Returns the newest connection that a Connect of an allocation has made or is making to a peer, or
// NULL.
struct hub_conn *hub_conn_of_peer(
	struct hub *h, const struct stream_alloc *p, const struct endpoint *peer);
// True if an allocation may have one more connection.
bool hub_may(const struct hub *h, const struct hub_alloc *a);
// True if the user of an allocation may send one more Connect now. Counts it in that case.
bool hub_may_connect(struct hub *h, const struct hub_alloc *a, uint64_t now_ms);
// Begins a connection of an allocation that has room for it, with fd. The caller sets its state.
struct hub_conn *hub_conn_begin(
	struct hub *h, struct hub_alloc *a, const struct endpoint *peer, int fd);
// Sets the connection's CONNECTION-ID. False if another connection has that ID.
bool hub_conn_name(struct hub *h, struct hub_conn *c, uint32_t id);
struct hub_conn *hub_conn_find(struct hub *h, uint32_t id);
// Makes two connections the ends of one in-process connection, which the kernel cannot reset.
void hub_conn_pair(struct hub *h, struct hub_conn *a, struct hub_conn *b);
// Marks the other end of an in-process connection, if any: its input ends too early.
void hub_conn_cut(struct hub *h, const struct hub_conn *c);
// Closes and removes a connection.
void hub_conn_end(struct hub *h, struct hub_conn *c);
// Allows the user of an order to bind the allocation's connections.
void hub_alloc_rekey(struct hub_alloc *a, const struct stream_order *o);
// True if the user of an order may bind a connection. Its allocation must exist.
bool hub_is_user(struct hub *h, const struct hub_conn *c, const struct stream_order *o);

static inline uint32_t hub_index(const struct hub *h, const struct hub_conn *c)
{
	return (uint32_t)(c - h->conn);
}
