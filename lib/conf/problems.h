// SPDX-License-Identifier: BSD-3-Clause
// Formats problems and passes them to a report.
#pragma once

#include <stdarg.h>

#include "conf.h"

// A place in the file, and the path of the wrong key.
struct conf_place {
	const char *file;
	size_t line, col;
	const char *key;
};

// Writes "FILE:LINE:COL: key: reason" to line, shortened if it does not fit.
void conf_tell_line(char line[CONF_ERROR_LEN], const struct conf_place *place, const char *fmt,
	va_list ap) __attribute__((format(printf, 3, 0)));
// Reports a warning about a node of the tree of c to r.
void conf_warn_node(struct conf_report *r, const struct conf *c, const struct conf_node *n,
	const char *fmt, ...) __attribute__((format(printf, 4, 5)));
// Counts a problem and passes its line to r.
void conf_tell_report(struct conf_report *r, enum conf_weight weight, const char *line);
