// SPDX-License-Identifier: BSD-3-Clause
// TCP between clients and peers (RFC 6062): the part of stream.h's interface for it. Workers decide
// and give orders; stream threads listen, connect, accept and transfer the bytes.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"
#include "rates/bucket.h"

#define STREAM_IDENT_LEN 16

#define STREAM_DEVICE_LEN 16 // name of a kernel interface, with its NUL

// An allocation, and the index of its relay port among all ports for TCP: the lowest port has 0.
struct stream_alloc {
	uint64_t allocation; // never 0, and never reused
	uint32_t port_index;
};

enum stream_order_kind {
	STREAM_ORDER_LISTEN = 1,
	STREAM_ORDER_CONNECT,
	STREAM_ORDER_BIND,
	STREAM_ORDER_ADMIT,
	STREAM_ORDER_REKEY,
};

// Outcomes of an order; each has an answer to the client. Not every order has every outcome.
enum stream_answer {
	STREAM_ANSWER_DONE,
	STREAM_ANSWER_NO_PORT,
	STREAM_ANSWER_EXISTS,
	STREAM_ANSWER_FAILED,
	STREAM_ANSWER_QUOTA,
	STREAM_ANSWER_DENIED,
	STREAM_ANSWER_UNKNOWN,
	STREAM_ANSWER_END
};

// Header of a message of kind STREAM_ORDER; the answers follow in the order of enum stream_answer.
// Host byte order.
struct stream_order {
	struct stream_alloc owner; // the allocation; unused for BIND
	struct endpoint endpoint; // LISTEN: the local address; CONNECT: the peer
	uint64_t peer; // ADMIT: stream_attempt.number
	// CONNECT: port index of the peer, if that is an allocation; else UINT32_MAX
	uint32_t peer_index;
	uint32_t id; // CONNECTION-ID for the client; ADMIT: 0 = close the connection
	uint8_t ident[STREAM_IDENT_LEN]; // LISTEN, BIND, REKEY: the user
	uint8_t kind; // enum stream_order_kind
	uint8_t realm, worker, listener; // of the allocation, and listener of the client
	uint16_t len[STREAM_ANSWER_END]; // bytes; for ADMIT, DONE is the ConnectionAttempt
};

// One direction of the bytes that an allocation relays.
struct stream_flow {
	struct stream_alloc owner;
	uint8_t worker; // worker of the allocation
	bool to_client; // else to its peers
};

// A peer that has connected to the port of an allocation.
struct stream_attempt {
	struct stream_alloc owner;
	struct endpoint peer;
	uint64_t number; // the stream thread's number for it
	uint64_t conn; // the client's control connection
};

struct stream_message;

// Questions and notes of stream threads to workers, as in struct stream_ops, with its ctx.
struct stream_relay_ops {
	// Passes the buffer of the last `take` to the worker: a peer has connected to a relay port
	// (RFC 6062 5.3). The worker answers with STREAM_ORDER_ADMIT. Never fails.
	void (*attempt)(void *ctx, unsigned int t, unsigned int w, const struct stream_message *m,
		const struct stream_attempt *a);
	// Passes the buffer of the last `take` to the worker: the relay port of an allocation could
	// not be opened. Never fails.
	void (*unopened)(void *ctx, unsigned int t, unsigned int w, const struct stream_message *m,
		const struct stream_alloc *p);
	// Writes the name of the kernel interface that has a relay address; "" = any interface.
	void (*device)(void *ctx, const struct addr *a, char name[STREAM_DEVICE_LEN]);
	// True if a TCP allocation still exists. Any thread.
	bool (*lives)(void *ctx, unsigned int w, const struct stream_alloc *p);
	// True if the current rules allow an endpoint as a peer of the realm's allocations. Call
	// stream_change after each change of the rules. Any thread.
	bool (*may_be_peer)(void *ctx, uint8_t realm, const struct endpoint *peer);
	// Publishes the number of peer connections of an allocation.
	void (*counted)(void *ctx, unsigned int w, const struct stream_alloc *p, uint32_t n);
	// Reserves up to want bytes of the rate limits and returns their number; 0: no byte may be
	// relayed now. Any thread.
	uint32_t (*allow)(void *ctx, const struct stream_flow *f, uint32_t want);
	// Counts bytes about to be relayed, and returns the rest of the reserved (allowed) bytes.
	// False: the allocation has ended, and no byte may be relayed. Any thread.
	bool (*relayed)(void *ctx, const struct stream_flow *f, uint32_t allowed, uint32_t bytes);
};

// Relaying over TCP. Its sockets are made in stream_config.netns.
struct stream_relay {
	uint32_t ports; // relay ports of all workers, which limits the allocations; 0 = off
	uint32_t connections, per_user, per_allocation; // limits of peer connections
	struct limit connects; // rate of Connects of one user
	uint32_t timeout_s; // seconds to connect to a peer, and to bind a connection
	uint32_t buffer; // bytes of the buffer of each direction of each connection
	const struct stream_relay_ops *ops; // NULL = off
};
