// SPDX-License-Identifier: BSD-3-Clause
// The messages that wait for a client which reads more slowly than we send. The queue is bounded.
// It drops the oldest media first, because new media is worth more. Pure; uses malloc. One thread
// at a time.
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
	uint32_t bytes; // of all items, including their headers
	uint32_t kept; // bytes of the items other than media
	uint16_t done; // bytes written of the first item, which must be completed
	bool offered; // libssl was offered the rest of it, and must get exactly that again: keep it
};

// A message to append.
struct queue_message {
	const uint8_t *data; // the queue copies it
	uint16_t len;
	uint16_t done; // bytes of it written already; if not 0, the queue must be empty
	bool offered; // libssl was offered the rest of it; if so, the queue must be empty
	bool media; // may be dropped for a newer one
};

// Appends a message. Drops the oldest media to stay within max bytes. A message that was partly
// written or offered always fits. Returns the number of messages dropped, including this one if
// there is no room (or no memory) for it.
unsigned int queue_put(struct queue *q, uint32_t max, const struct queue_message *m);
// Lists the messages to write next in v, the first without its written bytes: up to max messages,
// and more than one only if they fit in limit bytes. If the first was offered to libssl, it comes
// alone. The queue keeps them. Returns their number.
unsigned int queue_pieces(const struct queue *q, struct iovec *v, unsigned int max, size_t limit);
// Call it after n of these bytes were written; nothing is offered then. Returns the number of
// messages that they complete.
unsigned int queue_wrote(struct queue *q, size_t n);
void queue_clear(struct queue *q);
