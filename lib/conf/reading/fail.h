// SPDX-License-Identifier: BSD-3-Clause
// Errors of a file while it is read and checked.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct conf_ctx;
struct conf_node;

#define CONF_ERRORS_MAX 20 // errors of one file, after which reading ends

// Reports "FILE:LINE:COL: key.path: reason" to x->report, and stores it in x->error if it is the
// first error. Returns -EINVAL. If node is NULL, the place is the main file, or the included file
// that is being read. A reason never quotes a value that may be a secret.
int conf_fail(struct conf_ctx *x, const struct conf_node *node, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
// Reports a missing key. The place is that of the mapping that lacks it.
int conf_fail_key(struct conf_ctx *x, const struct conf_node *map, const char *key, const char *fmt,
	...) __attribute__((format(printf, 4, 5)));
// Reports a key that must not exist. The place is that of the key, which is shown as name.
int conf_fail_unknown(struct conf_ctx *x, const struct conf_node *n, const char *name,
	const char *fmt, ...) __attribute__((format(printf, 4, 5)));
// Reports that memory ran out, and suppresses further errors. Returns -EINVAL.
int conf_fail_memory(struct conf_ctx *x);
// Like conf_fail, before there is a tree.
int conf_fail_yaml(struct conf_ctx *x, size_t line, size_t col, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
// True after that number of errors, when reading should stop.
bool conf_fail_enough(const struct conf_ctx *x);
