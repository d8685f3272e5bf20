// SPDX-License-Identifier: BSD-3-Clause
// A ring of records of any length, from one thread to one other. It never blocks: a full ring
// rejects records.
#pragma once

#include <stdint.h>

struct capture_ring {
	uint8_t *mem; // size bytes; owned by the caller
	uint32_t size; // a power of two
	uint64_t head __attribute__((aligned(64))); // total bytes removed; the consumer writes it
	uint64_t tail __attribute__((aligned(64))); // total bytes added; the producer writes it
};

// mem: aligned to 8 bytes, must outlive the ring.
void capture_ring_init(struct capture_ring *r, void *mem, uint32_t size);
// Returns room for a record of len bytes, aligned to 8, for the producer to fill in; NULL if the
// ring is full. An empty ring always has room for a record of a quarter of its size.
void *capture_ring_room(struct capture_ring *r, uint32_t len);
// Publishes the record of the last capture_ring_room; len: at most the length given there.
void capture_ring_put(struct capture_ring *r, uint32_t len);
// The oldest record, and its length; NULL if the ring is empty. Valid until capture_ring_drop.
const void *capture_ring_first(struct capture_ring *r, uint32_t *len);
// Removes the oldest record, which capture_ring_first has returned.
void capture_ring_drop(struct capture_ring *r);
