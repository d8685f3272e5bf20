// SPDX-License-Identifier: BSD-3-Clause
// Walks the tree of a file along the schema and fills a struct.
#include "reading/read.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "expanding/include.h"
#include "reading/coturn.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"
#include "reading/text.h"
#include "reading/value.h"
#include "reading/yaml.h"
#include "schema/schema.h"
#include "secret.h"

// --- the walk ------------------------------------------------------------------------------------

// Describes the fault of a key, or returns NULL. Merge keys belong to YAML. Some characters look
// like a space but are not one in YAML.
static const char *key_fault(const char *key)
{
	if (strcmp(key, "<<") == 0)
		return "merge keys are not supported: write out the keys themselves";
	for (; *key != '\0'; key++)
		if ((unsigned char)*key >= 0x80)
			return "its name has a non-ASCII character, perhaps a no-break space: "
			       "type the name again";
	return NULL;
}

// Finds "key value" without the ':' between them, as in {realm turn.example}. Returns the known key
// that n begins with, or NULL.
static const struct conf_key *find_colonless(
	const struct conf_ctx *x, const struct conf_key *parent, const struct conf_node *n)
{
	const size_t len = strcspn(n->key, " =");
	char name[33];

	if (n->key[len] == '\0' || len >= sizeof(name))
		return NULL;
	snprintf(name, sizeof(name), "%.*s", (int)len, n->key);
	return conf_schema_child(x->keys, parent, name);
}

// Fails on a key that is not in the schema. Its text is cut at the first odd character: a password
// may follow a ':' without a space. In sections with passwords, a key is shown only if it is close
// to a known one.
static int fail_unknown(struct conf_ctx *x, const struct conf_key *parent, struct conf_node *n)
{
	const struct conf_key *known = find_colonless(x, parent, n);
	const char *fault = key_fault(n->key);
	const size_t good = strspn(n->key,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789_-");
	char name[33], advice[256];

	if (known != NULL) {
		n->meant = conf_schema_name(known);
		return conf_fail_unknown(x, n, n->meant,
			"there is no ':' behind the key: write '%s: VALUE'", n->meant);
	}
	if (fault != NULL)
		return conf_fail_unknown(x, n, n->key[0] == '<' ? "<<" : "?", "%s", fault);
	if (conf_schema_is_absent(x, parent, n->key, advice, sizeof(advice)))
		return conf_fail_unknown(x, n, n->key, "unknown key: %s", advice);
	// realm is also a key of slipring: here it is only in the wrong section
	if (x->conf != NULL && (parent == NULL || strcmp(n->key, "realm") != 0) &&
		conf_coturn_key(n->key, advice, sizeof(advice)))
		return conf_fail_unknown(x, n, n->key, "%s", advice);
	snprintf(name, sizeof(name), "%.*s", (int)good, n->key);
	n->meant = conf_schema_suggest(x, parent, name, advice, sizeof(advice));
	if (n->key[good] == ':')
		snprintf(advice, sizeof(advice), "a blank must follow the ':'");
	if (name[0] == '\0' || (n->meant == NULL && conf_node_in_auth(n)))
		strcpy(name, "?");
	return conf_fail_unknown(x, n, name, "unknown key, %s", advice);
}

// Returns advice on a value of the wrong kind.
static const char *kind_advice(const struct conf_key *k, const struct conf_node *n)
{
	if (n->kind == CONF_LIST)
		return conf_value_kind(k->type) == CONF_SCALAR ? ": remove the brackets"
							       : ", not a list";
	if (n->kind == CONF_MAP && k->type == CONF_ITEMS)
		return ": begin each entry with a '-' and a blank";
	if (n->kind == CONF_MAP)
		return ", not a mapping (text with ': ' in it, or ':' at its end, needs quotes)";
	return conf_value_kind(k->type) == CONF_LIST ? ": put it in brackets, [...]" : "";
}

static int check_kind(struct conf_ctx *x, const struct conf_key *k, const struct conf_node *n)
{
	const bool none = conf_value_none(n);

	// A section is empty when every line of it is commented out
	if (none && k->type == CONF_SECTION)
		return 0;
	if (none)
		return conf_fail(x, n, "has no value, give it %s%s", conf_value_form(k->type),
			k->type == CONF_TEXT ? " (in quotes, if it begins with '#')" : "");
	if (!conf_value_fits(k->type, n->kind))
		return conf_fail(x, n, "must be %s%s", conf_value_form(k->type), kind_advice(k, n));
	return 0;
}

// Expands an entry that consists of the value of its first key. False without memory.
static bool write_out(const struct conf_ctx *x, const struct conf_key *list, struct conf_node *n)
{
	struct conf_node *value = calloc(1, sizeof(*value));
	const struct conf_key *first = conf_schema_next(x->keys, list, NULL);

	if (value != NULL)
		*value = (struct conf_node){.kind = CONF_SCALAR,
			.plain = n->plain,
			.line = n->line,
			.col = n->col,
			.key_line = n->line,
			.key_col = n->col,
			.key = strdup(conf_schema_name(first)),
			.text = n->text,
			.parent = n};
	if (value == NULL || value->key == NULL) {
		free(value);
		return false;
	}
	n->kind = CONF_MAP;
	n->text = NULL;
	n->child = n->last = value;
	return true;
}

static int read_items(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *list, void *base)
{
	const uint32_t nb = list->last != NULL ? list->last->index + 1 : 0;
	char *array;
	int rc = 0;

	if (nb < k->min || nb > k->max)
		return conf_fail(
			x, list, "has %u entries: write from %u to %u", nb, k->min, k->max);
	// Grow the array only once: the checks remember the places of its elements
	array = conf_value_grow(x, k, list, base, nb);
	if (array == NULL)
		return -EINVAL;
	list->field = NULL;
	for (struct conf_node *n = list->child; n != NULL && !conf_fail_enough(x); n = n->next) {
		n->field = (char *)base + k->offset;
		n->first = n->index;
		n->count = 1;
		if ((k->flags & CONF_SHORT) != 0 && n->kind == CONF_SCALAR && !conf_value_none(n) &&
			!write_out(x, k, n))
			return conf_fail_memory(x);
		if (n->kind != CONF_MAP)
			rc = conf_fail(x, n, "must be a mapping: {key: value, ...}");
		else if (conf_read_map(x, k, n, array + (size_t)n->index * k->size) != 0)
			rc = -EINVAL;
	}
	return rc;
}

// Returns the struct that contains the keys of a section; with conf_key.like, that of another
// section.
static void *struct_of(const struct conf_key *section, void *base)
{
	return (char *)base + section->offset - section->count;
}

static int read_value(struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	int rc = check_kind(x, k, n);

	if (rc != 0)
		return rc;
	if (k->type == CONF_SECTION)
		return conf_read_map(x, k, n, struct_of(k, base));
	if (k->type == CONF_ITEMS)
		return read_items(x, k, n, base);
	return conf_value_read(x, k, n, base);
}

// Handles a key that the file leaves out.
static int read_absent(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *map, void *base)
{
	struct conf_node n = {.kind = CONF_SCALAR,
		.plain = true,
		.line = map->line,
		.col = map->col,
		.file = map->file,
		.key = (char *)conf_schema_name(k),
		.parent = map};

	if ((k->flags & CONF_REQUIRED) != 0)
		return conf_fail_key(
			x, map, n.key, "missing, give it %s", conf_value_form(k->type));
	if (k->type == CONF_SECTION) {
		n.kind = CONF_MAP;
		return conf_read_map(x, k, &n, struct_of(k, base));
	}
	return k->def != NULL ? conf_value_read_default(x, k, &n, base) : 0;
}

// True if a key is in the file, even under a name that has been reported as wrong.
static bool is_given(const struct conf_node *map, const char *key)
{
	for (const struct conf_node *n = map->child; n != NULL; n = n->next)
		if (strcmp(n->key, key) == 0 || (n->meant != NULL && strcmp(n->meant, key) == 0))
			return true;
	return false;
}

static int read_entry(
	struct conf_ctx *x, const struct conf_key *parent, struct conf_node *n, void *base)
{
	const struct conf_key *k = conf_schema_child(x->keys, parent, n->key);
	const struct conf_node *first = conf_node_child(n->parent, n->key);

	if (k == NULL)
		return fail_unknown(x, parent, n);
	if (first != n)
		return conf_fail(
			x, n, "given twice, first at line %u: remove one", first->key_line);
	return read_value(x, k, n, base);
}

int conf_read_map(
	struct conf_ctx *x, const struct conf_key *parent, struct conf_node *map, void *base)
{
	const struct conf_key *k = NULL;
	int rc = 0;

	for (struct conf_node *n = map->child; n != NULL && !conf_fail_enough(x); n = n->next)
		if (read_entry(x, parent, n, base) != 0)
			rc = -EINVAL;
	while ((k = conf_schema_next(x->keys, parent, k)) != NULL && !conf_fail_enough(x))
		if (!is_given(map, conf_schema_name(k)) && read_absent(x, k, map, base) != 0)
			rc = -EINVAL;
	return rc;
}

// --- the file ------------------------------------------------------------------------------------

struct conf_node *conf_read_tree(struct conf_ctx *x)
{
	struct conf_node *root = NULL;
	size_t len = 0, line;
	char *text = conf_text_read(x, &len);

	if (text == NULL)
		return NULL;
	line = x->conf != NULL ? conf_coturn_line(text, len) : 0;
	if (line == 0)
		root = conf_yaml_parse(x, text, len);
	conf_text_wipe(text, len);
	if (line > 0)
		conf_fail_yaml(x, line, 1,
			"a ':' and a blank must follow a key, not '='. "
			"slipring-import converts a turnserver.conf "
			"(doc/coturn.md)");
	if (root == NULL || root->kind == CONF_MAP)
		return root;
	conf_fail_yaml(x, root->line, root->col, "the file must be a mapping of keys: '%s: ...'",
		conf_schema_at(x->keys, 0)->path);
	conf_yaml_free(root);
	return NULL;
}

// Refuses constants in a build without tests.
static int check_constants(struct conf_ctx *x)
{
	const struct conf_node *n = conf_node_child(x->root, CONF_TEST_CONSTANTS);

	if (n == NULL || conf_test_constants)
		return 0;
	return conf_fail(x, n,
		"is for tests only, and this slipring was built without them (-Dtests=false): "
		"remove it");
}

int conf_read_file(struct conf_ctx *x, void *base)
{
	x->root = conf_read_tree(x);
	if (x->root == NULL)
		return -EINVAL;
	if (x->conf != NULL && (conf_include(x) != 0 || check_constants(x) != 0))
		return -EINVAL;
	return conf_read_map(x, NULL, x->root, base);
}

static bool is_texts(const struct conf_key *k)
{
	return k->type == CONF_TEXTS || k->type == CONF_COMMAND;
}

// Wipes and frees all values of the keys below parent: any of them may be a secret.
void conf_read_free(const struct conf_table *t, const struct conf_key *parent, void *base)
{
	const struct conf_key *k = NULL;

	while ((k = conf_schema_next(t, parent, k)) != NULL) {
		void *field = (char *)base + k->offset;
		const uint32_t *count = (const uint32_t *)((char *)base + k->count);

		if (k->type == CONF_SECTION)
			conf_read_free(t, k, struct_of(k, base));
		for (uint32_t n = 0; k->type == CONF_ITEMS && n < *count; n++)
			conf_read_free(t, k, *(char **)field + (size_t)n * k->size);
		for (uint32_t n = 0; is_texts(k) && n < *count; n++)
			secret_wipe((*(char ***)field)[n]);
		if (k->type == CONF_TEXT || k->type == CONF_ITEMS || is_texts(k) ||
			k->type == CONF_ADDRS || k->type == CONF_RELAY_ADDRS ||
			k->type == CONF_PORT_ADDRS || k->type == CONF_PREFIXES ||
			k->type == CONF_PREFIX_FILES || k->type == CONF_NAT64 ||
			k->type == CONF_SERVICES)
			secret_wipe(*(void **)field);
	}
}
