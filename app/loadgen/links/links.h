// SPDX-License-Identifier: BSD-3-Clause
// The connections of a lane's clients. Only the lane touches them; other lcores may read the name
// of the cipher.
#pragma once

#include "client/pending.h"
#include "lanes/lane.h"
#include "links/wire.h"

// LINK_HANDSHAKE: the handshake of TCP or TLS is in progress.
enum link_state { LINK_CLOSED, LINK_HANDSHAKE, LINK_UP };

struct link {
	struct wire wire;
	uint8_t state; // enum link_state
	uint32_t events; // that epoll waits for; 0 = not added to epoll yet
	uint32_t rest_len; // bytes
	uint8_t *rest; // first part of a message that has not arrived whole yet
	struct pending out;
	uint64_t begun_ms; // when the connection was opened
};

struct links {
	int epoll;
	struct link *link; // one per flow of the sender
	uint32_t nb_handshakes;
	uint64_t ticked_ms;
	uint8_t *scratch; // room for two chunks: the rest of a message, then the bytes of a read
	char cipher[64]; // written once, before `named` is set
	bool named;
};

// Raises the limit of descriptors so that every client can have one, and makes e->tls. Returns 0,
// or -1 with the reason in error.
int links_prepare(struct engine *e, char *error, size_t len);
// Makes the connections of a lane that is both sender and receiver. NULL when memory ran out.
struct links *links_create(struct lane *l);
void links_free(struct lane *l);
// Sends the message that m holds on client k's connection, and frees m. A request opens the
// connection first if it is closed. len is the length of the measured payload. A message that finds
// no room is counted, media as held back.
void links_send(struct lane *l, uint32_t k, struct rte_mbuf *m, enum frame_kind kind, uint16_t len);
// True if client k has a connection, or is connecting.
bool links_open(const struct lane *l, uint32_t k);
// Reads all connections and writes the bytes that waited for room. True when there was something to
// do.
bool links_round(struct lane *l);
// Returns the TLS version and cipher of the first connection that was up; "" = none yet. Main
// lcore.
const char *links_cipher(const struct engine *e);
