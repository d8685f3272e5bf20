// SPDX-License-Identifier: BSD-3-Clause
// A connection: its states, its bytes in and out, its deadlines. All functions run on the
// connection's thread. Private to lib/stream.
#pragma once

#include <openssl/ssl.h>

#include "addr.h"
#include "handle.h"
#include "identity/tls_hello.h"
#include "ilist.h"
#include "out/queue.h"
#include "stun.h"
#include "thread.h"

#define CONN_NONE UINT32_MAX
#define CONN_TID_AT 8 // offset of the transaction ID in a STUN message

enum conn_state {
	CONN_FREE,
	CONN_DETECT, // no byte has come yet
	CONN_HANDSHAKE,
	CONN_OPEN,
	CONN_SPLICED, // bound to a peer: carries bytes, no messages (features/tcp)
	CONN_ENDED, // closed, but not all workers know that yet
};

struct conn {
	SSL *ssl; // NULL: plain TCP
	struct endpoint client;
	int fd;
	uint32_t generation;
	struct ilist_link link; // in the list of free, ended or waiting connections (turns.h)
	struct ilist_link by_age; // in the list of connections without a message yet
	uint32_t events; // events that epoll watches for
	uint8_t state; // enum conn_state
	uint8_t listener; // index of the listener in streams.listener
	uint8_t tos; // tos_accepted
	uint8_t home, told; // home: its worker; told: number of workers notified of its end
	bool heard; // a complete message has arrived
	bool young; // no message has arrived, not even a waiting one: it may have to give way
	bool given; // a message was passed to a worker
	bool chunk; // the socket may be read once more
	bool more; // the last read filled its buffer, so there may be more
	bool ended; // the last read found the end of the stream
	uint8_t queued; // enum turns_list: the list that it is in
	uint8_t turn, asked; // messages and requests of the current turn
	bool waits; // for the answer to a ConnectionBind: later bytes may belong to the peer
	uint8_t bind_tid[STUN_TID_LEN]; // transaction ID of that ConnectionBind
	// The limits by source and network do not count it: spared while it has an allocation, or
	// trusted because its address is trusted.
	bool spared : 1, trusted : 1;
	bool fresh : 1; // watched by thread.fresh: it is not open yet
	bool follows : 1; // more records follow the one that libssl writes (MSG_MORE)
	uint8_t rekeys; // recent messages of handshakes since it is open: it ends above TLS_REKEYS
	uint16_t gathered; // see gather_add
	uint32_t skip; // bytes of an oversize message not received yet
	// Bytes received but not handled yet: rest_len bytes from rest_at on.
	uint32_t rest_at, rest_len;
	uint8_t *rest;
	struct tls_hello hello; // progress of its handshake
	char *offered; // its ClientHello's offer as text; NULL before, and after the handshake
	struct queue out;
#define X(type, field, waits, work, closed) type field; // CONN_SPLICED
	STREAM_CONNS(X)
#undef X
	uint64_t opened_ms, heard_ms, rest_ms, lease_ms; // rest_ms: start of rest's time limit
};

// Returns the handle of a connection for workers (handle.h); never 0.
static inline uint64_t conn_handle(const struct thread *t, const struct conn *c)
{
	return handle_make(c->generation, (uint8_t)t->index, (uint32_t)(c - t->conn));
}

// Takes over an accepted socket that the limits have counted. False: no room or memory; the caller
// keeps the socket. trusted: it was counted by conn_limits_take_total.
bool conn_open(
	struct thread *t, int fd, uint8_t listener, const struct endpoint *client, bool trusted);
// Closes a connection and increments the counter reason.
void conn_close(struct thread *t, struct conn *c, uint64_t *reason);
// Returns the counter to increment for a connection that failed.
uint64_t *conn_failure(struct thread *t, const struct conn *c);
// Closes the oldest connection that has not sent a message. False if there is no such connection.
bool conn_give_way(struct thread *t);
// Handles the events (EPOLLIN and so on) that epoll reports.
void conn_event(struct thread *t, struct conn *c, uint32_t events);
// Returns the connection of a handle if it is open and not bound to a peer; else NULL.
struct conn *conn_of(struct thread *t, uint64_t handle);
// True if the connection waits for the answer to a ConnectionBind and this message is it.
bool conn_waits_for(const struct conn *c, const uint8_t *message, size_t len);
// Continues reading after a ConnectionBind, if the connection waits for its answer.
void conn_answered(struct thread *t, struct conn *c);
// False while a client does not read our answers: the thread then reads no more requests from it.
bool conn_may_be_read(const struct thread *t, const struct conn *c);
// Updates the events that epoll watches for the connection.
void conn_watch(struct thread *t, struct conn *c);
// Records the remaining lifetime of the connection's allocation; 0 = no allocation. A connection
// with an allocation does not count for its source.
void conn_lease(struct thread *t, struct conn *c, uint32_t lease_s);
// Excludes the connection from the limits by source and network, or includes it again.
void conn_spare(struct thread *t, struct conn *c, bool spared);
// Closes the connection if one of its deadlines has passed.
void conn_judge(struct thread *t, struct conn *c);
// Notifies workers of closed connections, as far as the workers have room. Once every worker knows
// of a connection its slot is free. Sets t->untold: a bit for each worker that lacks notices.
void conn_tell_ends(struct thread *t);
// Returns the description of a connection for workers.
struct stream_from conn_from(const struct thread *t, const struct conn *c);
// Takes the connection, which has sent a message, off the list of those that may have to give way.
void conn_young_drop(struct thread *t, struct conn *c);
