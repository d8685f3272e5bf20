// SPDX-License-Identifier: BSD-3-Clause
// Problems as text, for whoever is told them.
#pragma once

#include <stdarg.h>

#include "conf.h"

// A place in the file, and the path of the key that is wrong there.
struct conf_place {
	const char *file;
	size_t line, col;
	const char *key;
};

// Writes "FILE:LINE:COL: key: reason" to line, cut short where that has no room.
void conf_tell_line(char line[CONF_ERROR_LEN], const struct conf_place *place, const char *fmt,
	va_list ap) __attribute__((format(printf, 3, 0)));
// Tells r a problem at a node of the tree of c.
void conf_tell_node(struct conf_report *r, enum conf_weight weight, const struct conf *c,
	const struct conf_node *n, const char *fmt, ...) __attribute__((format(printf, 5, 6)));
// Counts a problem and tells r its line.
void conf_tell_report(struct conf_report *r, enum conf_weight weight, const char *line);
