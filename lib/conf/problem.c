// SPDX-License-Identifier: BSD-3-Clause
// Formats problems: what is wrong and where, as FILE:LINE:COL: key: reason.
#include "conf_int.h"

#include <errno.h>
#include <stdarg.h>

#define PATH_LEN 128 // bytes of a key path as text; the deepest has 30 characters and one index

const struct conf_node *conf_node_of(const struct conf_node *n, const void *field, uint32_t index)
{
	for (; n != NULL; n = n->next) {
		const struct conf_node *below;

		if (n->field == field && index >= n->first && index - n->first < n->count)
			return n;
		below = conf_node_of(n->child, field, index);
		if (below != NULL)
			return below;
	}
	return NULL;
}

// Writes the path of a node, such as "ports[0].name". Only names in the schema ever get here.
static size_t format_path(const struct conf_node *n, char *buf, size_t len)
{
	size_t at = 0;

	if (n->parent == NULL)
		return 0;
	at = format_path(n->parent, buf, len);
	if (at >= len)
		return at;
	if (n->key == NULL)
		at += (size_t)snprintf(buf + at, len - at, "[%u]", n->index);
	else
		at += (size_t)snprintf(buf + at, len - at, "%s%s", at > 0 ? "." : "", n->key);
	return at;
}

// A place in the file, and the path of the key that is wrong there.
struct place {
	const char *file;
	size_t line, col;
	const char *key;
};

__attribute__((format(printf, 3, 0))) static void format_line(
	char line[CONF_ERROR_LEN], const struct place *at, const char *fmt, va_list ap)
{
	const int n = snprintf(line, CONF_ERROR_LEN, "%s:%zu:%zu: %s: ", at->file, at->line,
		at->col, at->key[0] != '\0' ? at->key : "file");

	if (n > 0 && n < CONF_ERROR_LEN)
		vsnprintf(line + n, CONF_ERROR_LEN - (size_t)n, fmt, ap);
}

static void report(struct conf_report *r, enum conf_weight weight, const char *line)
{
	r->nb[weight]++;
	r->say(r->ctx, weight, line);
}

// --- while a file is read ------------------------------------------------------------------------

bool conf_enough(const struct conf_ctx *x)
{
	return x->errors >= CONF_ERRORS_MAX;
}

__attribute__((format(printf, 3, 0))) static int fail(
	struct conf_ctx *x, const struct place *at, const char *fmt, va_list ap)
{
	char line[CONF_ERROR_LEN];

	if (conf_enough(x))
		return -EINVAL;
	format_line(line, at, fmt, ap);
	if (x->errors++ == 0)
		memcpy(x->error, line, strlen(line) + 1);
	if (x->report != NULL)
		report(x->report, CONF_ERROR, line);
	return -EINVAL;
}

int conf_fail(struct conf_ctx *x, const struct conf_node *at, const char *fmt, ...)
{
	char key[PATH_LEN] = "";
	const struct place place = {
		x->path, at != NULL ? at->line : 1, at != NULL ? at->col : 1, key};
	va_list ap;
	int rc;

	if (at != NULL)
		format_path(at, key, sizeof(key));
	va_start(ap, fmt);
	rc = fail(x, &place, fmt, ap);
	va_end(ap);
	return rc;
}

int conf_fail_key(
	struct conf_ctx *x, const struct conf_node *map, const char *key, const char *fmt, ...)
{
	const struct conf_node n = {.parent = (struct conf_node *)map, .key = (char *)key};
	char path[PATH_LEN];
	const struct place place = {x->path, map->line, map->col, path};
	va_list ap;
	int rc;

	format_path(&n, path, sizeof(path));
	va_start(ap, fmt);
	rc = fail(x, &place, fmt, ap);
	va_end(ap);
	return rc;
}

int conf_fail_unknown(
	struct conf_ctx *x, const struct conf_node *n, const char *name, const char *fmt, ...)
{
	const struct conf_node shown = {.parent = n->parent, .key = (char *)name};
	char path[PATH_LEN];
	const struct place place = {x->path, n->key_line, n->key_col, path};
	va_list ap;
	int rc;

	format_path(&shown, path, sizeof(path));
	va_start(ap, fmt);
	rc = fail(x, &place, fmt, ap);
	va_end(ap);
	return rc;
}

int conf_fail_yaml(struct conf_ctx *x, size_t line, size_t col, const char *fmt, ...)
{
	const struct place place = {x->path, line, col, "yaml"};
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = fail(x, &place, fmt, ap);
	va_end(ap);
	return rc;
}

int conf_fail_memory(struct conf_ctx *x)
{
	conf_fail(x, NULL, "out of memory");
	x->errors = CONF_ERRORS_MAX; // nothing that follows would tell more
	return -EINVAL;
}

bool conf_in_auth(const struct conf_node *n)
{
	char path[PATH_LEN] = "";

	format_path(n->parent, path, sizeof(path));
	return strncmp(path, "auth", 4) == 0;
}

// --- afterwards ----------------------------------------------------------------------------------

void conf_tell(
	struct conf_report *r, enum conf_weight weight, struct conf_at at, const char *fmt, ...)
{
	const struct conf_node *n =
		at.field != NULL ? conf_node_of(at.conf->root, at.field, at.index) : NULL;
	char line[CONF_ERROR_LEN], path[PATH_LEN] = "";
	const struct place place = {at.conf->path, n != NULL ? n->line : 1, n != NULL ? n->col : 1,
		n != NULL ? path : at.key};
	va_list ap;

	if (n != NULL)
		format_path(n, path, sizeof(path));
	va_start(ap, fmt);
	format_line(line, &place, fmt, ap);
	va_end(ap);
	report(r, weight, line);
}
