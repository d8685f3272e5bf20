// SPDX-License-Identifier: BSD-3-Clause
// What an allocation has relayed and lost.
#pragma once

#include <stdint.h>

// Classes of drops of an allocation's datagrams: X(enum, name, meaning).
#define TURN_LOSSES(X)                                                                           \
	X(TURN_LOSS_PERMISSION, "permission", "no permission or channel, or the peer is denied") \
	X(TURN_LOSS_SIZE, "size", "too long for the way")                                        \
	X(TURN_LOSS_WAY, "way", "no route, or the neighbour does not answer")                    \
	X(TURN_LOSS_LIMIT, "limit", "past a limit")                                              \
	X(TURN_LOSS_OTHER, "other", "malformed, or no memory")

enum turn_loss {
#define X(id, name, text) id,
	TURN_LOSSES(X)
#undef X
		TURN_LOSS_END
};

// Name and meaning of a class: static text; NULL for a number that is none. Any thread.
const char *turn_loss_name(unsigned int loss);
const char *turn_loss_text(unsigned int loss);

struct turn_usage {
	struct {
		uint64_t datagrams, bytes; // relayed; bytes of application data, without headers
	} leg[2]; // by enum turn_leg: from the client, from its peers
	uint32_t lost[TURN_LOSS_END]; // datagrams dropped, by class; stops at UINT32_MAX
};
