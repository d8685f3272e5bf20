// SPDX-License-Identifier: BSD-3-Clause
// Looking keys up in a table of them, and advice about those that are in none.
#include "schema.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "reading/ctx.h"

const struct conf_key *conf_schema_at(const struct conf_table *t, unsigned int i)
{
	for (; t != NULL; t = t->more) {
		if (i < t->nb)
			return &t->key[i];
		i -= t->nb;
	}
	return NULL;
}

const char *conf_schema_leaf(const struct conf_key *parent, const struct conf_key *key)
{
	const char *leaf = key->path;

	if (parent != NULL) {
		const bool listed = parent->type == CONF_ITEMS || parent->type == CONF_PORT_ADDRS;
		const char *joint = listed ? "[]." : ".";
		size_t len;

		// Most keys differ here already, and each section is looked for among all keys.
		if (leaf[0] != parent->path[0] || leaf[1] != parent->path[1])
			return NULL;
		len = strlen(parent->path);
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
	const struct conf_key *k;

	for (unsigned int i = 0; (k = conf_schema_at(t, i)) != NULL; i++) {
		const char *leaf = conf_schema_leaf(parent, k);

		if (leaf != NULL && strcmp(leaf, name) == 0)
			return k;
	}
	return NULL;
}

#define WORD_MAX 32

// Levenshtein distance of two words, b of at most WORD_MAX characters.
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
	const struct conf_key *k;

	for (unsigned int i = 0; n < len && (k = conf_schema_at(t, i)) != NULL; i++) {
		const char *leaf = conf_schema_leaf(parent, k);

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
	const struct conf_key *k;
	const char *near = NULL;

	for (unsigned int i = 0; (k = conf_schema_at(t, i)) != NULL; i++) {
		const char *leaf = conf_schema_leaf(parent, k);
		const unsigned int d = leaf != NULL ? edit_distance(name, leaf) : best;

		if (d < best) {
			best = d;
			near = leaf;
		}
	}
	if (near != NULL) {
		snprintf(buf, len, "did you mean '%s'?", near);
		return near;
	}
	for (unsigned int i = 0; (k = conf_schema_at(t, i)) != NULL; i++) {
		const char *dot = strrchr(k->path, '.');

		if (strcmp(dot != NULL ? dot + 1 : k->path, name) == 0) {
			snprintf(buf, len, "'%s' is known: it belongs there", k->path);
			return NULL;
		}
	}
	list_keys(t, parent, buf, len);
	return NULL;
}
