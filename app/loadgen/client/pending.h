// SPDX-License-Identifier: BSD-3-Clause
// What a connection has not taken yet: the rest of a message that is begun, and requests behind it.
// It is bounded and small, because media does not wait here: it is held back and counted. PURE;
// uses malloc.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PENDING_MAX 16384

// Zeroed, it is empty.
struct pending {
	uint8_t *data;
	uint32_t at, len; // written up to at, of len bytes
};

static inline size_t pending_left(const struct pending *p)
{
	return p->len - p->at;
}

static inline const uint8_t *pending_next(const struct pending *p)
{
	return p->data + p->at;
}

// Appends; false when there is no room or no memory, and nothing has been.
bool pending_put(struct pending *p, const uint8_t *data, size_t len);
// n bytes of what was left have been written. Empty, it has no memory.
void pending_wrote(struct pending *p, size_t n);
void pending_clear(struct pending *p);
