// SPDX-License-Identifier: BSD-3-Clause
// Judges the version of a file, and renames in its tree what has another name today.
#include "expanding/versions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"
#include "reading/value.h"
#include "schema.h"
#include "secret.h"

int conf_versions_check(struct conf_ctx *x)
{
	const struct conf_node *n = conf_node_child(x->root, "version");
	uint32_t version;

	// What is no number is told when the key is read
	if (n == NULL || n->kind != CONF_SCALAR || !n->plain ||
		!conf_value_decimal(n->text, strlen(n->text), &version) ||
		version <= x->keys->version)
		return 0;
	return conf_fail(x, n,
		"the file is of version %u, and this slipring knows versions up to %u: install a "
		"later slipring, or write the file for this one (doc/configuration.md)",
		version, x->keys->version);
}

// --- keys with another name ----------------------------------------------------------------------

// The child of map whose name is the first len bytes of path.
static struct conf_node *child_named(const struct conf_node *map, const char *path, size_t len)
{
	struct conf_node *n = map->kind == CONF_MAP ? map->child : NULL;

	while (n != NULL && (strncmp(n->key, path, len) != 0 || n->key[len] != '\0'))
		n = n->next;
	return n;
}

// What a path of len bytes leads to below a mapping; NULL when it is not there.
static struct conf_node *find(struct conf_node *map, const char *path, size_t len)
{
	while (map != NULL && len > 0) {
		const char *dot = memchr(path, '.', len);
		const size_t part = dot != NULL ? (size_t)(dot - path) : len;

		map = child_named(map, path, part);
		len -= part + (dot != NULL);
		path += part + 1;
	}
	return map;
}

// A new section of that name in map, placed where n is. NULL without memory.
static struct conf_node *add_section(
	struct conf_node *map, const char *name, size_t len, const struct conf_node *n)
{
	struct conf_node *section = calloc(1, sizeof(*section));

	if (section == NULL)
		return NULL;
	*section = (struct conf_node){.kind = CONF_MAP,
		.line = n->line,
		.col = n->col,
		.key_line = n->key_line,
		.key_col = n->key_col,
		.file = n->file,
		.key = strndup(name, len)};
	if (section->key == NULL) {
		free(section);
		return NULL;
	}
	conf_node_append(map, section);
	return section;
}

// The section that a key of that path is to stand in; made where there is none. NULL, told, when
// something else is in its place, or without memory.
static struct conf_node *section_of(
	struct conf_ctx *x, struct conf_node *map, const char *path, const struct conf_node *n)
{
	const char *dot;

	for (; (dot = strchr(path, '.')) != NULL; path = dot + 1) {
		struct conf_node *next = child_named(map, path, (size_t)(dot - path));

		if (next != NULL && conf_value_none(next)) { // all of it is commented out
			secret_wipe(next->text);
			next->text = NULL;
			next->kind = CONF_MAP;
		}
		if (next == NULL)
			next = add_section(map, path, (size_t)(dot - path), n);
		if (next == NULL)
			conf_fail_memory(x);
		else if (next->kind != CONF_MAP)
			conf_fail(x, next, "must be a mapping of keys");
		if (next == NULL || next->kind != CONF_MAP)
			return NULL;
		map = next;
	}
	return map;
}

// Gives n, which stands under its old name below map, the name and place that `to` says.
static int rename_node(struct conf_ctx *x, struct conf_node *map, const struct conf_rename *r,
	struct conf_node *n, const char *to)
{
	const char *leaf = strrchr(to, '.') != NULL ? strrchr(to, '.') + 1 : to;
	const struct conf_node *twin = find(map, to, strlen(to));
	struct conf_node *section;
	char *key;

	if (x->keys->version >= r->since + CONF_RENAME_LASTS)
		return conf_fail(
			x, n, "is called %s since version %u: write that", r->to, r->since);
	if (twin != NULL)
		return conf_fail(x, n,
			"is the old name of %s, which is given too, at line %u: remove this one",
			r->to, twin->key_line);
	section = section_of(x, map, to, n);
	key = section != NULL ? strdup(leaf) : NULL;
	if (key == NULL)
		return section != NULL ? conf_fail_memory(x) : -EINVAL;
	secret_wipe(n->key);
	n->key = key;
	n->renamed = r;
	conf_node_append(section, n);
	return 0;
}

// Renames what `from` leads to below map.
static int rename_key(struct conf_ctx *x, struct conf_node *map, const struct conf_rename *r,
	const char *from, const char *to)
{
	struct conf_node *n;
	int rc = 0;

	while (rc == 0 && (n = find(map, from, strlen(from))) != NULL)
		rc = rename_node(x, map, r, n, to);
	return rc;
}

// The same in each mapping of lists that both paths go through.
static int rename_in(struct conf_ctx *x, struct conf_node *map, const struct conf_rename *r,
	const char *from, const char *to)
{
	const char *items = strstr(from, "[].");
	const struct conf_node *list;
	int rc = 0;

	if (items == NULL)
		return rename_key(x, map, r, from, to);
	list = find(map, from, (size_t)(items - from));
	for (struct conf_node *n = list != NULL && list->kind == CONF_LIST ? list->child : NULL;
		n != NULL; n = n->next)
		if (n->kind == CONF_MAP &&
			rename_in(x, n, r, items + 3, strstr(to, "[].") + 3) != 0)
			rc = -EINVAL;
	return rc;
}

int conf_versions_rename(struct conf_ctx *x)
{
	int rc = 0;

	for (const struct conf_rename *r = x->keys->renames; r != NULL && r->from != NULL; r++)
		if (rename_in(x, x->root, r, r->from, r->to) != 0)
			rc = -EINVAL;
	return rc;
}
