// SPDX-License-Identifier: BSD-3-Clause
// What waits for a client that does not read as fast as it is sent to. It is bounded: the oldest
// media is dropped first, because a listener still wants to hear the newest. Pure; uses malloc.
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

// Zeroed, it is empty.
struct queue {
	struct queue_item *first, *last;
	uint32_t bytes; // of all items, their heads included
	uint32_t kept; // of those that are no media
	uint16_t done; // bytes of the first that are written
	bool begun; // some of the first has been written, or offered: it has to be finished
};

// Appends what is left of a message of which done bytes have been written (begun: or offered to
// libssl, which wants it again). Makes room within max bytes by dropping the oldest media. Returns
// how many messages have been dropped, this one included where there is no room for it; one that is
// begun always has.
unsigned int queue_put(struct queue *q, uint32_t max, const uint8_t *data, uint16_t len,
	uint16_t done, bool begun, bool media);
// What is to be written next; false when there is nothing.
bool queue_next(const struct queue *q, const uint8_t **data, uint16_t *len);
// n bytes of it have been written. True when it was the rest of a message.
bool queue_wrote(struct queue *q, uint16_t n);
void queue_clear(struct queue *q);
