// SPDX-License-Identifier: BSD-3-Clause
// The connections of a lane. Touched by it alone, but for the name of the cipher.
#pragma once

#include "lanes/engine.h"
#include "client/pending.h"
#include "lanes/wire.h"

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
