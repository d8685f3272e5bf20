// SPDX-License-Identifier: BSD-3-Clause
// Reads the files that the key include names, and merges their trees into that of the main file.
#include "expanding/include.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "conf.h"
#include "conf_features.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"
#include "reading/read.h"
#include "reading/value.h"
#include "reading/yaml.h"

#define SUFFIX ".yaml"
#define CHILDREN_MAX 256 // of a mapping; no section has half that number of keys

// --- merging two trees ---------------------------------------------------------------------------

// Fails on a node of an included file whose key another file has already.
static int fail_twice(struct conf_ctx *x, const struct conf_node *n, const struct conf_node *first)
{
	return conf_fail(x, n, "given twice, first at %s:%u:%u: remove one",
		first->file != NULL ? first->file : x->path, first->key_line, first->key_col);
}

static int join_maps(struct conf_ctx *x, struct conf_node *into, struct conf_node *src);

// Merges node n of an included file into the node that has its key already. Frees the rest of n.
static int join_entry(struct conf_ctx *x, struct conf_node *has, struct conf_node *n)
{
	// All lines of a section may be commented out
	const bool empty = conf_value_none(n) && has->kind == CONF_MAP;
	const bool again = has->file == n->file || has->added == n->file;
	int rc = 0;

	if (!empty && (again || has->kind != n->kind || n->kind == CONF_SCALAR))
		return fail_twice(x, n, has);
	if (n->kind == CONF_MAP)
		rc = join_maps(x, has, n);
	while (n->kind == CONF_LIST && n->child != NULL)
		conf_node_append(has, n->child);
	has->added = n->file;
	conf_node_remove(n);
	conf_yaml_free(n);
	return rc;
}

// Moves the children of one mapping into another.
static int join_maps(struct conf_ctx *x, struct conf_node *into, struct conf_node *src)
{
	struct conf_node *next;
	int rc = 0;

	if (src->last != NULL && src->last->index >= CHILDREN_MAX)
		return conf_fail(
			x, src, "has %u keys: is it a configuration?", src->last->index + 1);
	for (struct conf_node *n = src->child; n != NULL; n = next) {
		struct conf_node *has = conf_node_child(into, n->key);

		next = n->next;
		if (has != NULL && conf_value_none(has) && n->kind == CONF_MAP) {
			conf_node_remove(has);
			conf_yaml_free(has);
			has = NULL;
		}
		if (has == NULL)
			conf_node_append(into, n);
		else if (join_entry(x, has, n) != 0)
			rc = -EINVAL;
	}
	return rc;
}

// --- the files -----------------------------------------------------------------------------------

// True if a key is about accounts, by the section or list that contains it.
static bool is_account(const char *section, const char *key)
{
	static const char *const keys[][2] = {{"", "auth"}, {"auth", "users"}, {"auth", "secrets"},
#define X(list) {"", list}, {list, "name"}, {list, "users"}, {list, "secrets"},
		CONF_ACCOUNTS(X)
#undef X
			{"users", "name"},
		{"users", "password"}, {"users", "key"}, {"users", "key-sha256"},
		{"users", "password-file"}};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (strcmp(keys[i][0], section) == 0 && strcmp(keys[i][1], key) == 0)
			return true;
	return false;
}

// True if a text names a file by a path: not a credential, nor a file in the directory of the file
// that names it.
static bool is_path(const struct conf_node *n)
{
	return strcmp(n->key, "password-file") == 0 && n->kind == CONF_SCALAR &&
		strchr(n->text, '/') != NULL;
}

// Fails on keys below a node that are not about accounts. DEPTH_MAX of yaml.c bounds the recursion.
static int check_accounts(struct conf_ctx *x, const struct conf_node *n, const char *section)
{
	int rc = 0;

	for (const struct conf_node *c = n->child; c != NULL && !conf_fail_enough(x); c = c->next) {
		if (c->key != NULL && (!is_account(section, c->key) || is_path(c)))
			rc = conf_fail_unknown(x, c, c->key,
				"included files may have only accounts (auth.users, auth.secrets, "
				"and realms with these; a password-file without '/'): move the "
				"key to the file that includes this one, or write include-holds: "
				"all there");
		else if (check_accounts(x, c, c->key != NULL ? c->key : section) != 0)
			rc = -EINVAL;
	}
	return rc;
}

// True if the main file says that included files may hold all keys.
static bool may_hold_all(const struct conf_ctx *x)
{
	const struct conf_node *n = conf_node_child(x->root, "include-holds");

	return n != NULL && n->kind == CONF_SCALAR && strcmp(n->text, "all") == 0;
}

// Fails on keys that only the main file may have.
static int check_keys(struct conf_ctx *x, const struct conf_node *root)
{
	const struct conf_node *include = conf_node_child(root, "include");
	const struct conf_node *version = conf_node_child(root, "version");
	const struct conf_node *holds = conf_node_child(root, "include-holds");

	if (include != NULL)
		conf_fail(x, include,
			"an included file cannot include files: put all of them in one directory");
	if (version != NULL)
		conf_fail(x, version, "is a key of the including file only: move it there");
	if (holds != NULL)
		conf_fail(x, holds, "is a key of the including file only: move it there");
	if (include != NULL || version != NULL || holds != NULL)
		return -EINVAL;
	return may_hold_all(x) ? 0 : check_accounts(x, root, "");
}

// Stores the name of an included file, which nodes and reports point to. NULL without memory.
static const char *keep_name(struct conf *c, const char *path)
{
	char **names = realloc(c->included, (c->nb_included + 1) * sizeof(*names));

	if (names == NULL)
		return NULL;
	c->included = names;
	names[c->nb_included] = strdup(path);
	if (names[c->nb_included] == NULL)
		return NULL;
	return names[c->nb_included++];
}

// The size of a file that can be included, or -1 after an error at the node that names it.
static off_t size_of(struct conf_ctx *x, const struct conf_node *n, const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		conf_fail(x, n, "%s: %s", path, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		conf_fail(x, n, "%s is not a regular file: name one", path);
	else
		return st.st_size;
	return -1;
}

// total: the sum of the bytes read from included files.
static int add_file(struct conf_ctx *x, const struct conf_node *n, const char *path, off_t *total)
{
	const off_t size = size_of(x, n, path);
	struct conf_node *root;
	uint32_t before;
	int rc = -EINVAL;

	if (size < 0)
		return -EINVAL;
	*total += size;
	if (*total > CONF_INCLUDED_MAX)
		return conf_fail(x, n,
			"%s: all files together have more than %u bytes: remove "
			"some",
			path, CONF_INCLUDED_MAX);
	x->included = keep_name(x->conf, path);
	if (x->included == NULL)
		return conf_fail_memory(x);
	before = x->errors;
	root = conf_read_tree(x);
	if (root != NULL)
		rc = check_keys(x, root) != 0 ? -EINVAL : join_maps(x, x->root, root);
	else if (x->errors == before)
		rc = 0; // the file is empty
	conf_yaml_free(root);
	x->included = NULL;
	return rc;
}

static int is_ours(const struct dirent *e)
{
	const size_t len = strlen(e->d_name), end = strlen(SUFFIX);

	return e->d_name[0] != '.' && len > end && strcmp(e->d_name + len - end, SUFFIX) == 0;
}

// Compares bytes, so that the order is equal on every host, whatever its locale.
static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int add_directory(struct conf_ctx *x, const struct conf_node *n, const char *path)
{
	struct dirent **list = NULL;
	const int nb = scandir(path, &list, is_ours, by_name);
	char file[PATH_MAX];
	off_t total = 0;
	int rc = 0;

	if (nb < 0)
		return conf_fail(x, n, "%s: %s", path, strerror(errno));
	if (nb > CONF_INCLUDES_MAX)
		rc = conf_fail(x, n, "%s has %d files: at most %u are allowed, remove some", path,
			nb, CONF_INCLUDES_MAX);
	for (int i = 0; i < nb; i++) {
		if (nb <= CONF_INCLUDES_MAX && !conf_fail_enough(x)) {
			if ((size_t)snprintf(file, sizeof(file), "%s/%s", path, list[i]->d_name) >=
				sizeof(file))
				rc = conf_fail(x, n, "the names are too long: shorten them");
			else if (add_file(x, n, file, &total) != 0)
				rc = -EINVAL;
		}
		free(list[i]);
	}
	free(list);
	return rc;
}

bool conf_include_path(const char *file, const char *name, char path[PATH_MAX])
{
	const char *slash = strrchr(file, '/');

	return name != NULL && name[0] != '\0' &&
		(size_t)snprintf(path, PATH_MAX, "%.*s%s",
			name[0] != '/' && slash != NULL ? (int)(slash + 1 - file) : 0, file,
			name) < PATH_MAX;
}

int conf_include(struct conf_ctx *x)
{
	const struct conf_node *n = conf_node_child(x->root, "include");
	char path[PATH_MAX];
	off_t total = 0;
	struct stat st;

	// A node that is not a text is reported when the key is read
	if (n == NULL || n->kind != CONF_SCALAR || n->text[0] == '\0')
		return 0;
	if (!conf_include_path(x->path, n->text, path))
		return conf_fail(x, n, "the name is too long: shorten it");
	if (stat(path, &st) != 0)
		return conf_fail(x, n, "%s: %s", path, strerror(errno));
	return S_ISDIR(st.st_mode) ? add_directory(x, n, path) : add_file(x, n, path, &total);
}
