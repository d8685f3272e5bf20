// SPDX-License-Identifier: BSD-3-Clause
// How a row of the table of keys is written. For schema.c and the files of its parts alone.
#pragma once

#include <stddef.h>

#include "conf.h"
#include "schema.h"

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

// The rows of an array as a table, with those of others behind them.
#define TABLE(rows, behind)                                                         \
	{                                                                           \
		.key = rows, .nb = sizeof(rows) / sizeof((rows)[0]), .more = behind \
	}

extern const struct conf_table conf_schema_turn; // schema_turn.c: what lib/turn serves, and whom
extern const struct conf_table conf_schema_limits; // schema_limits.c: how much, and with whom
extern const struct conf_table conf_schema_box; // schema_box.c: the log, records, memory
extern const struct conf_table conf_schema_constants; // schema_constants.c, behind all others
