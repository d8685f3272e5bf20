// SPDX-License-Identifier: BSD-3-Clause
// Names of time-limited users (draft-uberti-behave-turn-rest-00): TIME, TIME:ID, or ID:TIME.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TURN_REST_TIME_END UINT64_C(100000000000) // the year 5138: later times are milliseconds

struct turn_rest_name {
	uint64_t expiry_s; // seconds since 1970
	const char *id; // points into the name
	size_t id_len; // 0 = no ID
};

// Reads a name. A time is decimal seconds, and may have a fraction, which is dropped. If both sides
// of the first colon are times, the first one counts. False if it is not such a name; *out is then
// not set.
bool turn_rest_read(const void *name, size_t len, struct turn_rest_name *out);
// True if a name that turn_rest_read rejects was probably meant as one: it has nine digits in a
// row.
bool turn_rest_looks_like(const void *name, size_t len);
