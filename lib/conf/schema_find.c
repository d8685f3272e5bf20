// SPDX-License-Identifier: BSD-3-Clause
// Looking keys up in a table of them, and advice about those that are in none.
#include "schema.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "reading/ctx.h"

const char *conf_schema_leaf(const struct conf_key *parent, const struct conf_key *key)
{
	const char *leaf = key->path;

	if (parent != NULL) {
		const bool listed = parent->type == CONF_ITEMS || parent->type == CONF_PORT_ADDRS;
		const char *joint = listed ? "[]." : ".";
		const size_t len = strlen(parent->path);

		if (strncmp(leaf, parent->path, len) != 0 ||
			strncmp(leaf + len, joint, strlen(joint)) != 0)
			return NULL;
		leaf += len + strlen(joint);
	}
	return strchr(leaf, '.') == NULL ? leaf : NULL;
}

const struct conf_key *conf_schema_child(
	const struct conf_table *t, const struct conf_key *parent, const char *name)
{
	for (unsigned int i = 0; i < t->nb; i++) {
		const char *leaf = conf_schema_leaf(parent, &t->key[i]);

		if (leaf != NULL && strcmp(leaf, name) == 0)
			return &t->key[i];
	}
	return NULL;
}

#define WORD_MAX 32

// Levenshtein distance of two words, b of at most WORD_MAX characters.
static unsigned int distance(const char *a, const char *b)
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

	for (unsigned int i = 0; i < t->nb && n < len; i++) {
		const char *leaf = conf_schema_leaf(parent, &t->key[i]);

		if (leaf != NULL)
			n += (size_t)snprintf(buf + n, len - n, " %s", leaf);
	}
}

const char *conf_schema_suggest(const struct conf_ctx *x, const struct conf_key *parent,
	const char *name, char *buf, size_t len)
{
	const struct conf_table *t = x->keys;
	// A word with up to this many wrong letters is taken for a slip of the pen
	unsigned int best = strlen(name) > 4 ? 3 : 2;
	const char *near = NULL;

	for (unsigned int i = 0; i < t->nb; i++) {
		const char *leaf = conf_schema_leaf(parent, &t->key[i]);
		const unsigned int d = leaf != NULL ? distance(name, leaf) : best;

		if (d < best) {
			best = d;
			near = leaf;
		}
	}
	if (near != NULL) {
		snprintf(buf, len, "did you mean '%s'?", near);
		return near;
	}
	for (unsigned int i = 0; i < t->nb; i++) {
		const char *path = t->key[i].path, *dot = strrchr(path, '.');

		if (strcmp(dot != NULL ? dot + 1 : path, name) == 0) {
			snprintf(buf, len, "'%s' is known: it belongs there", path);
			return NULL;
		}
	}
	list_keys(t, parent, buf, len);
	return NULL;
}
