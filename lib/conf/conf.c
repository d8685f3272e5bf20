// SPDX-License-Identifier: BSD-3-Clause
// Walks the tree of a file along the schema and fills struct conf.
#include "conf_int.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>

#include "secret.h"

#define PATH_LEN 128 // of a key path as text: the deepest has 30 characters and one index

// --- errors --------------------------------------------------------------------------------------

// "ports[0].name" of a node. Only names that are in the schema ever get here.
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

__attribute__((format(printf, 5, 0))) static int set_error(
	struct conf_ctx *x, size_t line, size_t col, const char *key, const char *fmt, va_list ap)
{
	const int n = snprintf(x->error, CONF_ERROR_LEN, "%s:%zu:%zu: %s: ", x->path, line, col,
		key[0] != '\0' ? key : "file");

	if (n > 0 && n < CONF_ERROR_LEN)
		vsnprintf(x->error + n, CONF_ERROR_LEN - (size_t)n, fmt, ap);
	return -EINVAL;
}

int conf_fail(struct conf_ctx *x, const struct conf_node *at, const char *fmt, ...)
{
	char key[PATH_LEN] = "";
	va_list ap;
	int rc;

	if (at != NULL)
		format_path(at, key, sizeof(key));
	va_start(ap, fmt);
	rc = set_error(x, at != NULL ? at->line : 1, at != NULL ? at->col : 1, key, fmt, ap);
	va_end(ap);
	return rc;
}

int conf_fail_key(
	struct conf_ctx *x, const struct conf_node *map, const char *key, const char *fmt, ...)
{
	const struct conf_node n = {.parent = (struct conf_node *)map, .key = (char *)key};
	char path[PATH_LEN];
	va_list ap;
	int rc;

	format_path(&n, path, sizeof(path));
	va_start(ap, fmt);
	rc = set_error(x, map->line, map->col, path, fmt, ap);
	va_end(ap);
	return rc;
}

int conf_fail_yaml(struct conf_ctx *x, size_t line, size_t col, const char *fmt, ...)
{
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = set_error(x, line, col, "yaml", fmt, ap);
	va_end(ap);
	return rc;
}

int conf_fail_memory(struct conf_ctx *x)
{
	return conf_fail(x, NULL, "out of memory");
}

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

// --- the walk ------------------------------------------------------------------------------------

static int read_map(
	struct conf_ctx *x, const struct conf_key *parent, struct conf_node *map, void *base);

// A key that the schema has not. Its text is cut at the first odd character: behind a ':' without
// its blank there may be a password. Where passwords are written, only a near miss is shown at all.
static int fail_unknown(
	struct conf_ctx *x, const struct conf_key *parent, const struct conf_node *n)
{
	const size_t good = strspn(n->key,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
		"0123456789_-");
	char name[33], path[PATH_LEN] = "", advice[256];
	bool near;

	snprintf(name, sizeof(name), "%.*s", (int)good, n->key);
	format_path(n->parent, path, sizeof(path));
	near = conf_key_suggest(x, parent, name, advice, sizeof(advice));
	if (n->key[good] == ':')
		snprintf(advice, sizeof(advice), "a blank must follow the ':'");
	if (name[0] == '\0' || (!near && strncmp(path, "auth", 4) == 0))
		strcpy(name, "?");
	snprintf(x->error, CONF_ERROR_LEN, "%s:%u:%u: %s%s%s: unknown key, %s", x->path,
		n->key_line, n->key_col, path, path[0] != '\0' ? "." : "", name, advice);
	return -EINVAL;
}

static int check_kind(struct conf_ctx *x, const struct conf_key *k, const struct conf_node *n)
{
	const bool none = conf_value_none(n);

	// A section whose every line is commented out is an empty one
	if (none && k->type == CONF_SECTION)
		return 0;
	if (none)
		return conf_fail(x, n, "has no value, give it %s", conf_value_form(k->type));
	if (n->kind != conf_value_kind(k->type))
		return conf_fail(x, n, "must be %s", conf_value_form(k->type));
	return 0;
}

static int read_items(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *list, void *base)
{
	const uint32_t nb = list->last != NULL ? list->last->index + 1 : 0;
	char *array;

	if (nb < k->min || nb > k->max)
		return conf_fail(
			x, list, "has %u entries, it must have from %u to %u", nb, k->min, k->max);
	// All at once: the checks remember where the elements are
	array = conf_list_grow(x, k, list, base, nb);
	if (array == NULL)
		return -EINVAL;
	list->field = NULL;
	for (struct conf_node *n = list->child; n != NULL; n = n->next) {
		int rc;

		if (n->kind != CONF_MAP)
			return conf_fail(x, n, "must be a mapping: {key: value, ...}");
		n->field = (char *)base + k->offset;
		n->first = n->index;
		n->count = 1;
		rc = read_map(x, k, n, array + (size_t)n->index * k->size);
		if (rc != 0)
			return rc;
	}
	return 0;
}

static int read_value(struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	int rc = check_kind(x, k, n);

	if (rc != 0)
		return rc;
	if (k->type == CONF_SECTION)
		return read_map(x, k, n, base);
	if (k->type == CONF_ITEMS)
		return read_items(x, k, n, base);
	return conf_value_read(x, k, n, base);
}

// A key that the file leaves out.
static int read_absent(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *map, void *base)
{
	const char *leaf = strrchr(k->path, '.');
	struct conf_node n = {.kind = CONF_SCALAR,
		.plain = true,
		.line = map->line,
		.col = map->col,
		.parent = map};

	n.key = (char *)(leaf != NULL ? leaf + 1 : k->path);
	if ((k->flags & CONF_REQUIRED) != 0)
		return conf_fail_key(
			x, map, n.key, "missing, give it %s", conf_value_form(k->type));
	if (k->type == CONF_SECTION) {
		n.kind = CONF_MAP;
		return read_map(x, k, &n, base);
	}
	if (k->def == NULL)
		return 0;
	n.plain = k->def[0] != '"';
	n.text = (char *)(n.plain ? k->def : "");
	return conf_value_read(x, k, &n, base);
}

static const struct conf_node *find_entry(const struct conf_node *map, const char *key)
{
	const struct conf_node *n = map->child;

	while (n != NULL && strcmp(n->key, key) != 0)
		n = n->next;
	return n;
}

static int read_map(
	struct conf_ctx *x, const struct conf_key *parent, struct conf_node *map, void *base)
{
	int rc = 0;

	for (struct conf_node *n = map->child; n != NULL && rc == 0; n = n->next) {
		const struct conf_key *k = conf_key_child(x->keys, parent, n->key);
		const struct conf_node *first = find_entry(map, n->key);

		if (k == NULL)
			return fail_unknown(x, parent, n);
		if (first != n)
			return conf_fail(
				x, n, "given twice, first at line %u: remove one", first->key_line);
		rc = read_value(x, k, n, base);
	}
	for (unsigned int i = 0; i < x->keys->nb && rc == 0; i++) {
		const struct conf_key *k = &x->keys->key[i];
		const char *leaf = conf_key_leaf(parent, k);

		if (leaf != NULL && find_entry(map, leaf) == NULL)
			rc = read_absent(x, k, map, base);
	}
	return rc;
}

// --- load and free -------------------------------------------------------------------------------

// The whole file, or NULL with x->error set.
static char *read_file(struct conf_ctx *x, size_t *len)
{
	FILE *f = fopen(x->path, "re");
	char *text = malloc(CONF_FILE_MAX + 1);

	if (text == NULL) {
		conf_fail_memory(x);
	} else if (f == NULL) {
		conf_fail(x, NULL, "cannot be opened: %s", strerror(errno));
	} else {
		setvbuf(f, NULL, _IONBF, 0); // no other copy of it
		*len = fread(text, 1, CONF_FILE_MAX + 1, f);
		if (ferror(f))
			conf_fail(x, NULL, "cannot be read: %s", strerror(errno));
		else if (*len > CONF_FILE_MAX)
			conf_fail(x, NULL, "larger than %u bytes: is it a configuration?",
				CONF_FILE_MAX);
	}
	if (f != NULL)
		fclose(f);
	if (x->error[0] == '\0')
		return text;
	secret_wipe(text);
	return NULL;
}

int conf_read_file(struct conf_ctx *x, void *base)
{
	size_t len = 0;
	char *text;

	x->error[0] = '\0';
	text = read_file(x, &len);
	if (text == NULL)
		return -EINVAL;
	x->root = conf_yaml_parse(x, text, len);
	secret_wipe(text);
	if (x->root == NULL)
		return -EINVAL;
	if (x->root->kind != CONF_MAP)
		return conf_fail_yaml(x, x->root->line, x->root->col,
			"the file must be a mapping of keys: '%s: ...'", x->keys->key[0].path);
	return read_map(x, NULL, x->root, base);
}

struct conf *conf_load(const char *path, char error[CONF_ERROR_LEN])
{
	struct conf_ctx x = {.path = path, .error = error, .keys = &conf_file_keys};
	int rc;

	x.conf = calloc(1, sizeof(*x.conf));
	if (x.conf != NULL)
		x.conf->path = strdup(path);
	rc = x.conf != NULL && x.conf->path != NULL ? conf_read_file(&x, x.conf)
						    : conf_fail_memory(&x);
	if (rc == 0)
		rc = conf_validate(&x);
	conf_yaml_free(x.root);
	if (rc == 0)
		return x.conf;
	conf_free(x.conf);
	return NULL;
}

// Frees what the keys below parent own, wiped: any of it may be a secret.
void conf_free_keys(const struct conf_table *t, const struct conf_key *parent, void *base)
{
	for (unsigned int i = 0; i < t->nb; i++) {
		const struct conf_key *k = &t->key[i];
		void *field = (char *)base + k->offset;
		const uint32_t *count = (const uint32_t *)((char *)base + k->count);

		if (conf_key_leaf(parent, k) == NULL)
			continue;
		if (k->type == CONF_SECTION)
			conf_free_keys(t, k, base);
		for (uint32_t n = 0; k->type == CONF_ITEMS && n < *count; n++)
			conf_free_keys(t, k, *(char **)field + (size_t)n * k->size);
		for (uint32_t n = 0; k->type == CONF_TEXTS && n < *count; n++)
			secret_wipe((*(char ***)field)[n]);
		if (k->type == CONF_TEXT || k->type == CONF_ITEMS || k->type == CONF_TEXTS ||
			k->type == CONF_ADDRS || k->type == CONF_PORT_ADDRS ||
			k->type == CONF_PREFIXES || k->type == CONF_NAT64 ||
			k->type == CONF_SERVICES)
			secret_wipe(*(void **)field);
	}
}

static void wipe_text(char *text)
{
	if (text != NULL)
		explicit_bzero(text, strlen(text));
}

void conf_forget(struct conf *c)
{
	for (uint32_t i = 0; i < c->turn.nb_users; i++) {
		struct turn_user *u = &c->turn.users[i];

		wipe_text(u->password);
		explicit_bzero(&u->md5, sizeof(u->md5));
		explicit_bzero(&u->sha256, sizeof(u->sha256));
	}
	for (uint32_t i = 0; i < c->turn.nb_secrets; i++)
		wipe_text(c->turn.secrets[i]);
	wipe_text(c->turn.nonce_secret);
}

void conf_free(struct conf *c)
{
	if (c == NULL)
		return;
	conf_free_keys(&conf_file_keys, NULL, c);
	conf_drivers_free(c->drivers);
	free(c->turn.local);
	free(c->turn.gateways);
	free(c->path);
	free(c);
}
