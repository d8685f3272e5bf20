// SPDX-License-Identifier: BSD-3-Clause
// Looks up keys in a table, and gives advice on unknown keys.
#include "schema/schema.h"

#include <stdio.h>
#include <string.h>

#include "conf_absent.h"
#include "reading/ctx.h"

#define TESTS CONF_TEST_CONSTANTS "."

const struct conf_key *conf_schema_at(const struct conf_table *t, unsigned int i)
{
	for (; t != NULL; t = t->more) {
		if (i < t->nb)
			return &t->key[i];
		i -= t->nb;
	}
	return NULL;
}

// The name of a constant, which has dots, or NULL for other keys.
static const char *constant_name(const struct conf_key *key)
{
	static const char prefix[] = TESTS;

	return strncmp(key->path, prefix, sizeof(prefix) - 1) == 0 ? key->path + sizeof(prefix) - 1
								   : NULL;
}

const char *conf_schema_name(const struct conf_key *key)
{
	const char *dot = strrchr(key->path, '.');

	if (constant_name(key) != NULL)
		return constant_name(key);
	return dot != NULL ? dot + 1 : key->path;
}

// The key that has the keys of parent: parent itself, or the key that it refers to by `like`.
static const struct conf_key *find_source(const struct conf_table *t, const struct conf_key *parent)
{
	const struct conf_key *k = parent;

	if (parent != NULL && parent->like != NULL)
		for (unsigned int i = 0;
			strcmp((k = conf_schema_at(t, i))->path, parent->like) != 0;)
			i++;
	return k;
}

// The key after another one, or NULL if that is the last.
static const struct conf_key *key_behind(const struct conf_table *t, const struct conf_key *key)
{
	while ((uintptr_t)key < (uintptr_t)t->key || (uintptr_t)key >= (uintptr_t)(t->key + t->nb))
		t = t->more;
	if (++key < t->key + t->nb)
		return key;
	return t->more != NULL ? t->more->key : NULL;
}

// The path of a key relative to a section or list that contains it, or NULL if it lies elsewhere.
static const char *path_below(const struct conf_key *parent, const struct conf_key *key)
{
	const size_t len = strlen(parent->path);

	if (strncmp(key->path, parent->path, len) != 0)
		return NULL;
	if (key->path[len] == '.')
		return key->path + len + strlen(".");
	return key->path[len] == '[' ? key->path + len + strlen("[].") : NULL;
}

const struct conf_key *conf_schema_next(
	const struct conf_table *t, const struct conf_key *parent, const struct conf_key *key)
{
	const char *path;

	parent = find_source(t, parent);
	if (key == NULL)
		key = parent;
	do {
		key = key != NULL ? key_behind(t, key) : t->key;
		path = key == NULL ? NULL : parent != NULL ? path_below(parent, key) : key->path;
	} while (path != NULL && strchr(path, '.') != NULL && path != constant_name(key));
	return path != NULL ? key : NULL;
}

const struct conf_key *conf_schema_child(
	const struct conf_table *t, const struct conf_key *parent, const char *name)
{
	const struct conf_key *k = NULL;

	while ((k = conf_schema_next(t, parent, k)) != NULL &&
		strcmp(conf_schema_name(k), name) != 0)
		;
	return k;
}

bool conf_schema_is_absent(const struct conf_ctx *x, const struct conf_key *parent,
	const char *name, char *buf, size_t len)
{
	static const struct conf_key absent[] = {CONF_ABSENT_ROWS{NULL}};

	for (const struct conf_key *k = absent; k->path != NULL; k++) {
		const char *path = parent != NULL ? path_below(parent, k) : k->path;

		if (path == NULL || strcmp(path, name) != 0 || x->keys != &conf_file_keys)
			continue;
		snprintf(buf, len, "this slipring was built without the feature '%s'", k->help);
		return true;
	}
	return false;
}

#define WORD_MAX 32

// Levenshtein distance of two words; b has at most WORD_MAX characters.
static unsigned int edit_distance(const char *a, const char *b)
{
	const size_t len = strlen(b);
	unsigned int row[WORD_MAX + 1];

	for (size_t j = 0; j <= len; j++)
		row[j] = (unsigned int)j;
	for (size_t i = 0; a[i] != '\0'; i++) {
		unsigned int diagonal = row[0];

		row[0] = (unsigned int)i + 1;
		for (size_t j = 0; j < len; j++) {
			const unsigned int change = diagonal + (a[i] != b[j]);
			const unsigned int add = (row[j] < row[j + 1] ? row[j] : row[j + 1]) + 1;

			diagonal = row[j + 1];
			row[j + 1] = change < add ? change : add;
		}
	}
	return row[len];
}

static void list_keys(
	const struct conf_table *t, const struct conf_key *parent, char *buf, size_t len)
{
	size_t n = (size_t)snprintf(buf, len, "known here:");
	const struct conf_key *k = NULL;

	while (n < len && (k = conf_schema_next(t, parent, k)) != NULL &&
		(k->flags & CONF_HIDDEN) == 0)
		n += (size_t)snprintf(buf + n, len - n, " %s", conf_schema_name(k));
}

const char *conf_schema_suggest(const struct conf_ctx *x, const struct conf_key *parent,
	const char *name, char *buf, size_t len)
{
	const struct conf_table *t = x->keys;
	// Up to this number of wrong letters counts as a typing error
	unsigned int best = strlen(name) > 4 ? 3 : 2;
	const struct conf_key *k = NULL;
	const char *near = NULL;

	if (parent != NULL && (parent->flags & CONF_HIDDEN) != 0) {
		snprintf(buf, len, "lib/conf/schema/schema_constants.c has the names");
		return NULL;
	}
	while ((k = conf_schema_next(t, parent, k)) != NULL && (k->flags & CONF_HIDDEN) == 0) {
		const unsigned int d = edit_distance(name, conf_schema_name(k));

		if (d < best) {
			best = d;
			near = conf_schema_name(k);
		}
	}
	if (near != NULL) {
		snprintf(buf, len, "did you mean '%s'?", near);
		return near;
	}
	for (unsigned int i = 0;
		(k = conf_schema_at(t, i)) != NULL && (k->flags & CONF_HIDDEN) == 0; i++) {
		if (strcmp(conf_schema_name(k), name) == 0) {
			snprintf(buf, len, "'%s' is known: it belongs there", k->path);
			return NULL;
		}
	}
	list_keys(t, parent, buf, len);
	return NULL;
}
