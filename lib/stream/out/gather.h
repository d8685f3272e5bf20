// SPDX-License-Identifier: BSD-3-Clause
// The messages that a worker has for clients, in a chain per connection: messages that arrive
// together for a connection are written together. Pure. One thread at a time.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "stream.h"

#define GATHER_BYTES 16384 // bytes of one write
#define GATHER_PIECES 128 // messages of one write

struct gather {
	struct stream_message m[STREAM_BURST];
	uint16_t next[STREAM_BURST]; // the next message of the same connection, or GATHER_END
	uint16_t first[STREAM_BURST]; // first message of each chain
	unsigned int nb; // chains
};

// A position in a chain.
struct gather_at {
	uint16_t i; // message; GATHER_END: after the last message
	uint16_t done; // bytes of it written already
};

#define GATHER_END UINT16_MAX

// Appends message i to the chain of its connection. *last is the connection's: 1 + the index of its
// last message in g, 0 = no message.
void gather_add(struct gather *g, unsigned int i, uint16_t *last);
// Lists the messages from a position on in v: up to GATHER_PIECES, and more than one only if they
// fit in GATHER_BYTES. Returns their number.
unsigned int gather_pieces(const struct gather *g, struct gather_at pos, struct iovec *v);
// Advances a position by n written bytes. Returns the number of messages that they complete.
unsigned int gather_wrote(const struct gather *g, struct gather_at *pos, size_t n);
