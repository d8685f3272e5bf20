// SPDX-License-Identifier: BSD-3-Clause
// Requests out of a stream of bytes: one a line. Pure, except that it allocates. Private to
// lib/mgmt.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define LINES_MAX 65536 // bytes of a line, without its newline

// What has come and is no whole line yet. All zero at the beginning.
struct lines {
	char *buf;
	size_t len, room; // bytes that are there, and that fit
	size_t taken; // bytes of lines that have been given out
};

enum lines_put { LINES_OK, LINES_LONG, LINES_NO_MEMORY };

// Adds bytes. LINES_LONG: a line without end is longer than LINES_MAX, and nothing was added.
enum lines_put lines_put(struct lines *l, const void *data, size_t len);
// Takes a line out: its bytes, without newline, with a NUL behind them; NULL when there is no whole
// one. Good until the next call of lines_put.
char *lines_next(struct lines *l, size_t *len);
// Whether there is a whole one.
bool lines_wait(const struct lines *l);
void lines_free(struct lines *l);
// How deep objects and arrays are nested in a text of JSON, without parsing it: no less than a
// parser would find.
unsigned int lines_depth(const char *text, size_t len);
