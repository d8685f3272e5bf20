// SPDX-License-Identifier: BSD-3-Clause
// Macros for the rows of the table of keys. Only for schema.c and its parts.
#pragma once

#include <stddef.h>

#include "conf.h"
#include "schema/schema.h"

#define CONF_ADDRESSES_MAX 4096 // in one list, with ranges and prefixes expanded

// ONE: a single field f of struct s. MANY: a list f of struct s with its count n.
#define ONE(s, f) .offset = offsetof(struct s, f), .size = sizeof(((struct s *)NULL)->f)
#define MANY(s, f, n)                                                            \
	.offset = offsetof(struct s, f), .size = sizeof(*((struct s *)NULL)->f), \
	.count = offsetof(struct s, n)
#define REQUIRED .flags = CONF_REQUIRED
#define OPAQUE .flags = CONF_OPAQUE
#define OPAQUE_REQUIRED .flags = CONF_REQUIRED | CONF_OPAQUE
#define RANGE(lo, hi) .min = lo, .max = hi

// The rows of an array as a table, followed by another table.
#define TABLE(rows, behind)                                                         \
	{                                                                           \
		.key = rows, .nb = sizeof(rows) / sizeof((rows)[0]), .more = behind \
	}

extern const struct conf_table conf_schema_turn; // schema_turn.c: listeners, relay addresses, users
extern const struct conf_table conf_schema_limits; // schema_limits.c: limits and peers
extern const struct conf_table conf_schema_box; // schema_box.c: the log, records, memory
extern const struct conf_table conf_schema_constants; // schema_constants.c, the last table
