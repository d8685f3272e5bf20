// SPDX-License-Identifier: BSD-3-Clause
// Orders: what a request of RFC 6062 has judged and found good, and the kernel's sockets are to do.
// The shard gives an order, and the thread that has the client's connection carries it out.
#pragma once

#include "addr.h"

#define TURN_ORDER_IDENT_LEN 16 // TURN_IDENT_LEN

enum turn_order_kind {
	TURN_ORDER_NONE,
	TURN_ORDER_LISTEN, // listen on a relayed transport address
	TURN_ORDER_CONNECT, // connect from it to a peer
	TURN_ORDER_BIND, // join the client's connection with that of a peer
	TURN_ORDER_ADMIT, // what becomes of a peer that has connected
	TURN_ORDER_REKEY, // connections may be bound with another access token (RFC 7635)
};

// The answers that a request may get, by what comes of its order: X(enum, code of an error, or 0).
// Those that are errors are counted where the order is carried out.
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
	uint64_t allocation; // id of the allocation; 0 for BIND
	uint32_t place; // which of all relay ports for TCP it has: its port less the lowest
	// CONNECT: the place of the peer, which is a relayed transport address of this box;
	// UINT32_MAX = it is none.
	uint32_t peer_place;
	uint32_t id; // CONNECTION-ID; of ADMIT 0 = the peer is to be closed
	// LISTEN: the relayed transport address. CONNECT, ADMIT: the peer.
	struct endpoint endpoint;
	uint8_t ident[TURN_ORDER_IDENT_LEN]; // who asks, in realm
	uint8_t kind; // enum turn_order_kind
	uint8_t realm, listener;
	// Bytes of each answer, by enum turn_answer: they stand one behind the other in
	// side->front. 0: the order has no such outcome.
	uint16_t len[TURN_ANSWER_END];
};
