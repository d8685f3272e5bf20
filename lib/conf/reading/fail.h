// SPDX-License-Identifier: BSD-3-Clause
// Errors of a file while it is read and checked.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct conf_ctx;
struct conf_node;

#define CONF_ERRORS_MAX 20 // errors of one file, after which reading ends

// Tells x->report "FILE:LINE:COL: key.path: reason", and keeps it in x->error when it is the first
// error. Returns -EINVAL. at NULL means the file itself, or the included one that is being read. A
// reason never quotes a value that may be a secret.
int conf_fail(struct conf_ctx *x, const struct conf_node *node, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
// The same for a key that is missing; the place is that of the mapping that lacks it.
int conf_fail_key(struct conf_ctx *x, const struct conf_node *map, const char *key, const char *fmt,
	...) __attribute__((format(printf, 4, 5)));
// The same for a key that must not be there. The place is that of the key, which is shown as name.
int conf_fail_unknown(struct conf_ctx *x, const struct conf_node *n, const char *name,
	const char *fmt, ...) __attribute__((format(printf, 4, 5)));
// Tells that memory ran out, and lets no further error follow. Returns -EINVAL.
int conf_fail_memory(struct conf_ctx *x);
// The same as conf_fail where there is no tree yet.
int conf_fail_yaml(struct conf_ctx *x, size_t line, size_t col, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
// True when there have been so many errors that nobody looks for more.
bool conf_fail_enough(const struct conf_ctx *x);
