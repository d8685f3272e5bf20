// SPDX-License-Identifier: BSD-3-Clause
// Orders: socket operations that a granted request of RFC 6062 needs. The shard gives an order, and
// the thread that has the client's connection carries it out.
#pragma once

#include "addr.h"

#define TURN_ORDER_IDENT_LEN 16 // TURN_IDENT_LEN

enum turn_order_kind {
	TURN_ORDER_NONE,
	TURN_ORDER_LISTEN, // listen on a relayed transport address
	TURN_ORDER_CONNECT, // connect from it to a peer
	TURN_ORDER_BIND, // join the client's connection with that to a peer
	TURN_ORDER_ADMIT, // accept or close the connection of a peer
	TURN_ORDER_REKEY, // connections may be bound with another access token (RFC 7635)
};

// The answers to a request, by the outcome of its order: X(enum, error code, or 0). The errors are
// counted where the order is carried out.
#define TURN_ORDER_ANSWERS(X)       \
	X(TURN_ANSWER_DONE, 0)      \
	X(TURN_ANSWER_NO_PORT, 508) \
	X(TURN_ANSWER_EXISTS, 446)  \
	X(TURN_ANSWER_FAILED, 447)  \
	X(TURN_ANSWER_QUOTA, 486)   \
	X(TURN_ANSWER_DENIED, 403)  \
	X(TURN_ANSWER_UNKNOWN, 400)

enum turn_answer {
#define X(id, code) id,
	TURN_ORDER_ANSWERS(X)
#undef X
		TURN_ANSWER_END
};

struct turn_order {
	uint64_t allocation; // ID of the allocation; 0 for BIND
	uint32_t port_index; // its relay port for TCP minus the lowest one
	// CONNECT: port index of the peer, if that is a relayed transport address of this box; else
	// UINT32_MAX.
	uint32_t peer_index;
	uint32_t id; // CONNECTION-ID; ADMIT with 0 = close the peer's connection
	// LISTEN: the relayed transport address. CONNECT, ADMIT: the peer.
	struct endpoint endpoint;
	uint8_t ident[TURN_ORDER_IDENT_LEN]; // the requesting user, in realm
	uint8_t kind; // enum turn_order_kind
	uint8_t realm, listener;
	// Bytes of each answer, by enum turn_answer; the answers follow each other in side->front.
	// 0: the order has no such outcome.
	uint16_t len[TURN_ANSWER_END];
};
