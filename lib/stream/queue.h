// SPDX-License-Identifier: BSD-3-Clause
// The messages that wait for a client which reads more slowly than we send. The queue is bounded.
// It drops the oldest media first, because a listener still wants to hear the newest. Pure; uses
// malloc. One thread at a time.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
	uint16_t done; // bytes of the first item that are written
	bool begun; // some of the first item was written, or offered: it has to be finished
};

// A message to append.
struct queue_message {
	const uint8_t *data; // is copied
	uint16_t len;
	uint16_t done; // bytes of it that were written already
	bool begun; // some of it was written, or was offered to libssl, which wants it again
	bool media; // may be dropped for a newer one
};

// Appends a message. To keep within max bytes, the queue drops the oldest media. A message that is
// begun always has room. Returns how many messages were dropped, this one included when there is no
// room (or no memory) for it.
unsigned int queue_put(struct queue *q, uint32_t max, const struct queue_message *m);
// The bytes to write next. They stay the queue's. False when there are none.
bool queue_next(const struct queue *q, const uint8_t **data, uint16_t *len);
// Call it when n of these bytes have been written. True when they end a message.
bool queue_wrote(struct queue *q, uint16_t n);
void queue_clear(struct queue *q);
