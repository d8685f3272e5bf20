// SPDX-License-Identifier: BSD-3-Clause
// Names of time-limited users (draft-uberti-behave-turn-rest-00): a time, TIME:ID, or ID:TIME.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TURN_REST_TIME_END UINT64_C(100000000000) // the year 5138: later ones are milliseconds

struct turn_rest_name {
	uint64_t expiry_s; // seconds since 1970
	const char *id; // within the name
	size_t id_len; // 0 = there is none
};

// Reads a name. A time is decimal seconds, and may have a fraction, which is dropped. Where both
// sides of the first colon are times, it is the one before it. False when it is no such name; *out
// is then not set.
bool turn_rest_read(const void *name, size_t len, struct turn_rest_name *out);
// Whether a name that is none looks as if it was to be one: it has nine digits in a row.
bool turn_rest_looks_like(const void *name, size_t len);
