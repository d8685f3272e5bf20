// SPDX-License-Identifier: BSD-3-Clause
// Formats problems: what is wrong and where, as FILE:LINE:COL: key: reason.
#include "tell.h"

#include <stdarg.h>
#include <stdio.h>

#include "reading/node.h"

void conf_tell_line(
	char line[CONF_ERROR_LEN], const struct conf_place *at, const char *fmt, va_list ap)
{
	const int n = snprintf(line, CONF_ERROR_LEN, "%s:%zu:%zu: %s: ", at->file, at->line,
		at->col, at->key[0] != '\0' ? at->key : "file");

	if (n > 0 && n < CONF_ERROR_LEN)
		vsnprintf(line + n, CONF_ERROR_LEN - (size_t)n, fmt, ap);
}

void conf_tell_report(struct conf_report *r, enum conf_weight weight, const char *line)
{
	r->nb[weight]++;
	r->say(r->ctx, weight, line);
}

void conf_tell(
	struct conf_report *r, enum conf_weight weight, struct conf_at at, const char *fmt, ...)
{
	const struct conf_node *n =
		at.field != NULL ? conf_node_of(at.conf->root, at.field, at.index) : NULL;
	char line[CONF_ERROR_LEN], path[CONF_PATH_LEN] = "";
	const struct conf_place place = {at.conf->path, n != NULL ? n->line : 1,
		n != NULL ? n->col : 1, n != NULL ? path : at.key};
	va_list ap;

	if (n != NULL)
		conf_node_path(n, path, sizeof(path));
	va_start(ap, fmt);
	conf_tell_line(line, &place, fmt, ap);
	va_end(ap);
	conf_tell_report(r, weight, line);
}
