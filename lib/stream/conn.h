// SPDX-License-Identifier: BSD-3-Clause
// A connection: its states, its bytes in and out, its deadlines. All functions run on the
// connection's thread. Private to lib/stream.
#pragma once

#include <openssl/ssl.h>

#include "addr.h"
#include "identity/tls_hello.h"
#include "out/queue.h"
#include "stun.h"
#include "thread.h"

#define CONN_NONE UINT32_MAX
#define CONN_TID_AT 8 // in a message of STUN

enum conn_state {
	CONN_FREE,
	CONN_DETECT, // no byte has come yet
	CONN_HANDSHAKE,
	CONN_OPEN,
	CONN_SPLICED, // bound to a peer: bytes, and no more messages (RFC 6062)
	CONN_ENDED, // closed, but workers have still to be told
};

struct splice;

struct conn {
	SSL *ssl; // NULL: plain TCP
	struct endpoint client;
	int fd;
	uint32_t generation;
	uint32_t next, prev; // in the list of free, of ended or of connections that wait for a turn
	uint32_t younger, older; // in the list of connections without a message yet
	uint32_t events; // events that epoll watches for
	uint8_t state; // enum conn_state
	uint8_t listener; // element of the listeners in our configuration
	uint8_t tos; // tos_accepted
	uint8_t home, told; // home: its worker; told: workers told of its end (CONN_ENDED)
	bool heard; // a whole message has come
	bool young; // no message has come, not even one that waits: may have to give way
	bool given; // a message was given to a worker
	bool chunk; // the socket may be read once more
	bool more; // the last read filled its buffer, so there may be more
	bool ended; // the last read found the end of the stream
	uint8_t queued; // enum turns_list: where it waits for its turn
	uint8_t turn, asked; // messages and requests of its turn until now
	bool waits; // for the answer to a ConnectionBind: what follows may be no messages
	uint8_t bind_tid[STUN_TID_LEN]; // of that
	// It does not count in the limits by source and network: while it has an allocation; or its
	// address is trusted.
	bool spared : 1, trusted : 1;
	bool fresh : 1; // epoll has it among the connections that are not open yet
	bool follows : 1; // behind what libssl writes: the kernel waits for it
	uint8_t rekeys; // messages of handshakes since it is open, of late: past TLS_REKEYS it ends
	uint16_t gathered; // gather_add's: of the messages that are about to be written
	uint32_t skip; // bytes of an oversize message that are still to come
	// Bytes received that have not been taken: rest_len of them, from rest_at on.
	uint32_t rest_at, rest_len;
	uint8_t *rest;
	struct tls_hello hello; // of its handshake
	char *offered; // in its ClientHello, in words; NULL before, and behind the handshake
	struct queue out;
	struct splice *splice; // CONN_SPLICED
	uint64_t opened_ms, heard_ms, rest_ms, lease_ms; // rest_ms: since when there is a rest
};

// The number by which workers know a connection: generation, thread and place in one; never 0.
static inline uint64_t conn_handle(const struct thread *t, const struct conn *c)
{
	return (uint64_t)c->generation << 32 | t->index << 24 | (uint32_t)(c - t->conn);
}

// Takes over a socket that was accepted and counted by the limits. False: no room or memory; the
// socket then stays the caller's. trusted: it was counted by conn_limits_take_total.
bool conn_open(
	struct thread *t, int fd, uint8_t listener, const struct endpoint *client, bool trusted);
// Closes a connection; reason is the counter to raise.
void conn_close(struct thread *t, struct conn *c, uint64_t *reason);
// The counter to raise for a connection that has failed.
uint64_t *conn_failure(struct thread *t, const struct conn *c);
// Closes the oldest connection from which no message has come. False: there is none.
bool conn_give_way(struct thread *t);
// Handles the events (EPOLLIN and so on) that epoll reports.
void conn_event(struct thread *t, struct conn *c, uint32_t events);
// The connection of a number, if it is open and not bound to a peer; else NULL.
struct conn *conn_of(struct thread *t, uint64_t handle);
// Whether a message is the answer to the ConnectionBind that the connection waits for, if any.
bool conn_waits_for(const struct conn *c, const uint8_t *message, size_t len);
// Reads on behind a ConnectionBind, if the connection waits for the answer to one.
void conn_answered(struct thread *t, struct conn *c);
// False while a client does not read our answers: no more requests are read from it then.
bool conn_may_be_read(const struct thread *t, const struct conn *c);
// Tells epoll what the connection waits for.
void conn_watch(struct thread *t, struct conn *c);
// Notes how long the allocation of a connection lives; 0 = it has none. While it has one it does
// not count for its source.
void conn_lease(struct thread *t, struct conn *c, uint32_t lease_s);
// Has it count in the limits by source and network, or not.
void conn_spare(struct thread *t, struct conn *c, bool spared);
// Closes the connection if one of its deadlines has passed.
void conn_judge(struct thread *t, struct conn *c);
// Tells workers of connections that have ended, as far as they have room for it. What every worker
// knows of is free for others. t->untold: a bit for each worker that is still to be told.
void conn_tell_ends(struct thread *t);
// What workers are to know of a connection.
struct stream_from conn_from(const struct thread *t, const struct conn *c);
// The connection does not have to give way any more: a message of it has come.
void conn_young_drop(struct thread *t, struct conn *c);
