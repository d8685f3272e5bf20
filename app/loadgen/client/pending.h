// SPDX-License-Identifier: BSD-3-Clause
// The bytes that a connection has not taken yet: the rest of a message already begun, and whole
// requests after it. The buffer is small and bounded, because media does not wait in it: media that
// finds no room is held back and counted. PURE; uses malloc.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PENDING_MAX 16384 // bytes

// Empty when all zero.
struct pending {
	uint8_t *data;
	uint32_t written, len; // bytes already written, and bytes in total
};

static inline size_t pending_left(const struct pending *p)
{
	return p->len - p->written;
}

static inline const uint8_t *pending_next(const struct pending *p)
{
	return p->data + p->written;
}

// Appends a copy. False, with nothing appended, when there is no room or no memory.
bool pending_put(struct pending *p, const uint8_t *data, size_t len);
// Marks the first n waiting bytes as written. Frees the memory when no byte waits any more.
void pending_wrote(struct pending *p, size_t n);
// Drops all bytes and frees the memory.
void pending_clear(struct pending *p);
