// SPDX-License-Identifier: BSD-3-Clause
// Formats problems as FILE:LINE:COL: key: reason.
#include "problems.h"

#include <stdarg.h>
#include <stdio.h>

#include "reading/node.h"

void conf_tell_line(
	char line[CONF_ERROR_LEN], const struct conf_place *place, const char *fmt, va_list ap)
{
	const int n = snprintf(line, CONF_ERROR_LEN, "%s:%zu:%zu: %s: ", place->file, place->line,
		place->col, place->key[0] != '\0' ? place->key : "file");

	if (n > 0 && n < CONF_ERROR_LEN)
		vsnprintf(line + n, CONF_ERROR_LEN - (size_t)n, fmt, ap);
}

void conf_tell_report(struct conf_report *r, enum conf_weight weight, const char *line)
{
	r->nb[weight]++;
	r->say(r->ctx, weight, line);
}

// The place of a node, or the first line of c if n is NULL. path has room for CONF_PATH_LEN bytes.
static struct conf_place place_of(
	const struct conf *c, const struct conf_node *n, const char *key, char *path)
{
	if (n == NULL)
		return (struct conf_place){c->path, 1, 1, key};
	path[0] = '\0';
	conf_node_path(n, path, CONF_PATH_LEN);
	return (struct conf_place){n->file != NULL ? n->file : c->path, n->line, n->col, path};
}

void conf_tell(struct conf_report *r, enum conf_weight weight, struct conf_at location,
	const char *fmt, ...)
{
	const struct conf_node *n = location.field != NULL
		? conf_node_by_field(location.conf->root, location.field, location.index)
		: NULL;
	char line[CONF_ERROR_LEN], path[CONF_PATH_LEN];
	const struct conf_place place = place_of(location.conf, n, location.key, path);
	va_list ap;

	va_start(ap, fmt);
	conf_tell_line(line, &place, fmt, ap);
	va_end(ap);
	conf_tell_report(r, weight, line);
}

void conf_warn_node(struct conf_report *r, const struct conf *c, const struct conf_node *n,
	const char *fmt, ...)
{
	char line[CONF_ERROR_LEN], path[CONF_PATH_LEN];
	const struct conf_place place = place_of(c, n, NULL, path);
	va_list ap;

	va_start(ap, fmt);
	conf_tell_line(line, &place, fmt, ap);
	va_end(ap);
	conf_tell_report(r, CONF_WARNING, line);
}
