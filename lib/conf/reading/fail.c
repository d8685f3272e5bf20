// SPDX-License-Identifier: BSD-3-Clause
// Reports the errors of a file while it is read and checked.
#include "reading/fail.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "conf.h"
#include "reading/ctx.h"
#include "reading/node.h"
#include "problems.h"

// The file that contains a node. Without a node: the file that is being read.
static const char *file_of(const struct conf_ctx *x, const struct conf_node *n)
{
	const char *included = n != NULL ? n->file : x->included;

	return included != NULL ? included : x->path;
}

bool conf_fail_enough(const struct conf_ctx *x)
{
	return x->errors >= CONF_ERRORS_MAX;
}

__attribute__((format(printf, 3, 0))) static int add_error(
	struct conf_ctx *x, const struct conf_place *place, const char *fmt, va_list ap)
{
	char line[CONF_ERROR_LEN];

	if (conf_fail_enough(x))
		return -EINVAL;
	conf_tell_line(line, place, fmt, ap);
	if (x->errors++ == 0)
		memcpy(x->error, line, strlen(line) + 1);
	if (x->report != NULL)
		conf_tell_report(x->report, CONF_ERROR, line);
	return -EINVAL;
}

int conf_fail(struct conf_ctx *x, const struct conf_node *node, const char *fmt, ...)
{
	char key[CONF_PATH_LEN] = "";
	const struct conf_place place = {
		file_of(x, node), node != NULL ? node->line : 1, node != NULL ? node->col : 1, key};
	va_list ap;
	int rc;

	if (node != NULL)
		conf_node_path(node, key, sizeof(key));
	va_start(ap, fmt);
	rc = add_error(x, &place, fmt, ap);
	va_end(ap);
	return rc;
}

int conf_fail_key(
	struct conf_ctx *x, const struct conf_node *map, const char *key, const char *fmt, ...)
{
	const struct conf_node n = {.parent = (struct conf_node *)map, .key = (char *)key};
	char path[CONF_PATH_LEN];
	const struct conf_place place = {file_of(x, map), map->line, map->col, path};
	va_list ap;
	int rc;

	conf_node_path(&n, path, sizeof(path));
	va_start(ap, fmt);
	rc = add_error(x, &place, fmt, ap);
	va_end(ap);
	return rc;
}

int conf_fail_unknown(
	struct conf_ctx *x, const struct conf_node *n, const char *name, const char *fmt, ...)
{
	const struct conf_node shown = {.parent = n->parent, .key = (char *)name};
	char path[CONF_PATH_LEN];
	const struct conf_place place = {file_of(x, n), n->key_line, n->key_col, path};
	va_list ap;
	int rc;

	conf_node_path(&shown, path, sizeof(path));
	va_start(ap, fmt);
	rc = add_error(x, &place, fmt, ap);
	va_end(ap);
	return rc;
}

int conf_fail_yaml(struct conf_ctx *x, size_t line, size_t col, const char *fmt, ...)
{
	const struct conf_place place = {file_of(x, NULL), line, col, "yaml"};
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = add_error(x, &place, fmt, ap);
	va_end(ap);
	return rc;
}

int conf_fail_memory(struct conf_ctx *x)
{
	conf_fail(x, NULL, "out of memory");
	x->errors = CONF_ERRORS_MAX; // later errors would add nothing
	return -EINVAL;
}
