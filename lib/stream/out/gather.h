// SPDX-License-Identifier: BSD-3-Clause
// The messages that a worker has for clients, in a chain for each connection: what comes together
// for one leaves together. Pure. One thread at a time.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "stream.h"

#define GATHER_BYTES 16384 // of one write
#define GATHER_PIECES 128 // messages of one write

struct gather {
	struct stream_message m[STREAM_BURST];
	uint16_t next[STREAM_BURST]; // the next one of the same connection; GATHER_END: none
	uint16_t first[STREAM_BURST]; // of each chain
	unsigned int nb; // chains
};

// A place in a chain.
struct gather_at {
	uint16_t i; // message; GATHER_END: behind the last one
	uint16_t done; // bytes of it that are written
};

#define GATHER_END UINT16_MAX

// Appends message i to the chain of its connection. last is the connection's: 1 + the number of its
// last message in the gather, 0 = it has none.
void gather_add(struct gather *g, unsigned int i, uint16_t *last);
// The messages from a place on: up to GATHER_PIECES, and more than one only within GATHER_BYTES
// bytes together. Returns how many.
unsigned int gather_pieces(const struct gather *g, struct gather_at pos, struct iovec *v);
// Moves a place on by n bytes that have been written. Returns how many messages they end.
unsigned int gather_wrote(const struct gather *g, struct gather_at *pos, size_t n);
