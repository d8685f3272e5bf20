// SPDX-License-Identifier: BSD-3-Clause
// TCP between clients and peers (RFC 6062), as the caller of stream.h knows it. Workers judge and
// order; stream threads listen, connect, accept and carry the bytes.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"
#include "bucket.h"

#define STREAM_IDENT_LEN 16

#define STREAM_DEVICE_LEN 16 // name of an interface of the kernel, with its NUL

// Limits, and the way to peers. The kernel's sockets are made in stream_config.netns.
struct stream_relay {
	uint32_t ports; // relay ports of all workers, so many allocations; 0 = off
	uint32_t connections, per_user, per_allocation; // of peers, at a time
	struct limit connects; // Connects of a user
	uint32_t timeout_s; // for a connection to a peer, and until one is bound
	uint32_t buffer; // bytes that may wait, each way of each connection
};

// An allocation, and its place among all relay ports: the lowest has 0.
struct stream_place {
	uint64_t allocation; // never 0, and not given twice
	uint32_t place;
};

enum stream_order_kind {
	STREAM_ORDER_LISTEN = 1,
	STREAM_ORDER_CONNECT,
	STREAM_ORDER_BIND,
	STREAM_ORDER_ADMIT,
	STREAM_ORDER_REKEY,
};

// What the client is answered, by the outcome. Not all orders have all.
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

// Stands at the beginning of a message of kind STREAM_ORDER; the answers follow, one behind the
// other. Host byte order.
struct stream_order {
	struct stream_place owner; // the allocation; none for BIND
	struct endpoint endpoint; // LISTEN: where; CONNECT: the peer
	uint64_t peer; // ADMIT: the number in struct stream_attempt
	// CONNECT: the place of the peer, if that is an allocation; else UINT32_MAX
	uint32_t peer_place;
	uint32_t id; // of the connection for the client; of ADMIT 0 = it is to be closed
	uint8_t ident[STREAM_IDENT_LEN]; // LISTEN, BIND, REKEY: whose
	uint8_t kind; // enum stream_order_kind
	uint8_t realm, worker, listener; // the allocation's worker; the client's listener
	uint16_t len[STREAM_ANSWER_END]; // of ADMIT DONE: the ConnectionAttempt
};

// One way of what an allocation relays.
struct stream_flow {
	struct stream_place owner;
	uint8_t worker; // the allocation's
	bool to_client; // else to its peers
};

// A peer that has connected to the port of an allocation.
struct stream_attempt {
	struct stream_place owner;
	struct endpoint peer;
	uint64_t number; // ours
	uint64_t conn; // the client's control connection
};
