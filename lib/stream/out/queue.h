// SPDX-License-Identifier: BSD-3-Clause
// The messages that wait for a client which reads more slowly than we send. The queue is bounded.
// It drops the oldest media first, because a listener still wants to hear the newest. Pure; uses
// malloc. One thread at a time.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct queue_item {
	struct queue_item *next;
	uint16_t len;
	bool media; // may be dropped for a newer one
	uint8_t data[];
};

// A zeroed queue is empty.
struct queue {
	struct queue_item *first, *last;
	uint32_t bytes; // of all items, including their heads
	uint32_t kept; // bytes of the items that are no media
	uint16_t done; // bytes of the first item that are written: it has to be finished
	bool offered; // the rest of it to libssl, which wants exactly that again: it stays
};

// A message to append.
struct queue_message {
	const uint8_t *data; // is copied
	uint16_t len;
	uint16_t done; // bytes of it that were written already; the queue is empty then
	bool offered; // the rest of it was, to libssl; the queue is empty then
	bool media; // may be dropped for a newer one
};

// Appends a message. To keep within max bytes, the queue drops the oldest media. A message of which
// some was written or offered always has room. Returns how many messages were dropped, this one
// included when there is no room (or no memory) for it.
unsigned int queue_put(struct queue *q, uint32_t max, const struct queue_message *m);
// The messages to write next, the first from where it was written to: up to max, and more than one
// only within limit bytes together. Of one that was offered no more than that. They stay the
// queue's. Returns how many.
unsigned int queue_pieces(const struct queue *q, struct iovec *v, unsigned int max, size_t limit);
// Call it when n of these bytes have been written; nothing is offered then. Returns how many
// messages they end.
unsigned int queue_wrote(struct queue *q, size_t n);
void queue_clear(struct queue *q);
