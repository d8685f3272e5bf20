// SPDX-License-Identifier: BSD-3-Clause
// Splits a stream of bytes into requests, one per line. Pure, except that it allocates. Private to
// lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define LINES_MAX 65536 // bytes of a line, without its newline

// The bytes received. Zero-initialised.
struct lines {
	char *buf;
	size_t len, room; // bytes in buf, and its capacity
	size_t taken; // bytes of lines that were returned
};

enum lines_put { LINES_OK, LINES_LONG, LINES_NO_MEMORY };

// Adds bytes. LINES_LONG: an unfinished line is longer than LINES_MAX, and nothing was added.
enum lines_put lines_put(struct lines *l, const void *data, size_t len);
// Returns the next line without newline, terminated by a NUL; NULL if no line is complete. Valid
// until the next call of lines_put.
char *lines_next(struct lines *l, size_t *len);
// True if a complete line is buffered.
bool lines_wait(const struct lines *l);
void lines_free(struct lines *l);
// The nesting depth of objects and arrays in a JSON text, without parsing it: at least the depth
// that a parser would find.
unsigned int lines_depth(const char *text, size_t len);
