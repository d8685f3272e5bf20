// SPDX-License-Identifier: BSD-3-Clause
// A ring of records of any length, from one thread to one other. Full is full: nobody waits.
#pragma once

#include <stdint.h>

struct capture_ring {
	uint8_t *mem; // size bytes; the caller's
	uint32_t size; // a power of two
	uint64_t head __attribute__((aligned(64))); // bytes taken so far; the consumer writes it
	uint64_t tail __attribute__((aligned(64))); // bytes put so far; the producer writes it
};

// mem: aligned to 8 bytes, outlives the ring.
void capture_ring_init(struct capture_ring *r, void *mem, uint32_t size);
// Room for a record of len bytes, aligned to 8, to be filled in by the producer; NULL: there is
// none. A ring has room for a record of a quarter of its size whenever it is empty.
void *capture_ring_room(struct capture_ring *r, uint32_t len);
// Hands over the record for which capture_ring_room has given room; len: no more than it said.
void capture_ring_put(struct capture_ring *r, uint32_t len);
// The oldest record, and its length; NULL: there is none. Good until capture_ring_drop.
const void *capture_ring_first(struct capture_ring *r, uint32_t *len);
// Gives the room of the oldest record back, which capture_ring_first has returned.
void capture_ring_drop(struct capture_ring *r);
