// SPDX-License-Identifier: BSD-3-Clause
// The connections of a lane. It alone touches them, except that others read the name of the cipher.
#pragma once

#include "client/pending.h"
#include "lanes/lane.h"
#include "links/wire.h"

enum link_state { LINK_CLOSED, LINK_SHAKING, LINK_UP };

struct link {
	struct wire wire;
	uint8_t state; // enum link_state
	uint32_t events; // epoll has been told to wait for; 0 = nothing yet
	uint32_t rest_len;
	uint8_t *rest; // begin of a message that is not whole yet
	struct pending out;
	uint64_t begun_ms;
};

struct links {
	int epoll;
	struct link *link; // of each flow of the sender
	uint32_t nb_shaking;
	uint64_t ticked_ms;
	uint8_t *scratch; // of two chunks: the rest of a message and what a read gives
	char cipher[64]; // written once, before named
	bool named;
};

// Lets this process have a descriptor for every client, and makes e->tls. 0, or -1 with a reason.
int links_prepare(struct engine *e, char *error, size_t len);
// Makes the connections of a lane that is a sender and a receiver. NULL when memory ran out.
struct links *links_create(struct lane *l);
void links_free(struct lane *l);
// Gives client k's connection the message that m holds, and consumes m; a request opens one first.
// len is that of the measured payload. What finds no room is counted: media as held back.
void links_send(struct lane *l, uint32_t k, struct rte_mbuf *m, enum frame_kind kind, uint16_t len);
// Whether client k has a connection, or is about to.
bool links_open(const struct lane *l, uint32_t k);
// What has come, and what waited for room; true when there was something.
bool links_round(struct lane *l);
// Name of the cipher of the first connection that was up, "" = none yet. Main lcore.
const char *links_cipher(const struct engine *e);
