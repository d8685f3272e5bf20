// SPDX-License-Identifier: BSD-3-Clause
// Warns of secrets that every user of the host can read.
#include "checks/checks.h"

#include <string.h>
#include <sys/stat.h>

#include "conf.h"
#include "conf_features.h"
#include "reading/node.h"
#include "problems.h"

#define CHMOD "everyone on this host can read the secrets in the file: chmod o-r"

static bool is_secret(const struct conf_node *n)
{
	static const char *const names[] = {"password", "key", "key-sha256", "secret"};

	for (size_t i = 0; n->key != NULL && i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(n->key, names[i]) == 0)
			return true;
	return n->parent != NULL && n->parent->key != NULL &&
		strcmp(n->parent->key, "secrets") == 0;
}

// Returns the first secret that `file` contains (NULL = the main file), at n, after it or below it.
static const struct conf_node *secret_in(const struct conf_node *n, const char *file)
{
	for (; n != NULL; n = n->next) {
		const struct conf_node *below = secret_in(n->child, file);

		if (n->kind == CONF_SCALAR && n->file == file && is_secret(n))
			return n;
		if (below != NULL)
			return below;
	}
	return NULL;
}

// Searches the sections where secrets are written.
static const struct conf_node *secret_of(const struct conf *c, const char *file)
{
#define X(section) , section
	static const char *const sections[] = {"auth" CONF_ACCOUNTS(X)};
#undef X
	const struct conf_node *found = NULL;

	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]) && found == NULL; i++) {
		const struct conf_node *n = conf_node_child(c->root, sections[i]);

		found = n != NULL ? secret_in(n->child, file) : NULL;
	}
	return found;
}

static bool is_open(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && (st.st_mode & S_IROTH) != 0;
}

static void warn_nodes(const struct conf *c, const struct conf_node *n, struct conf_report *r)
{
	for (; n != NULL && !conf_warned(r); n = n->next) {
		if (n->open)
			conf_warn_node(r, c, n,
				"everyone on this host can read the secret in that file: chmod "
				"o-r");
		warn_nodes(c, n->child, r);
	}
}

void conf_warn_files(const struct conf *c, struct conf_report *r)
{
	const struct conf_node *auth = conf_node_child(c->root, "auth");

	if (is_open(c->path) && (auth == NULL || secret_of(c, NULL) != NULL))
		conf_tell(r, CONF_WARNING, (struct conf_at){.conf = c, .key = "auth"}, CHMOD);
	for (uint32_t i = 0; i < c->nb_included && auth != NULL && !conf_warned(r); i++) {
		const struct conf_node *n = secret_of(c, c->included[i]);

		if (n != NULL && is_open(c->included[i]))
			conf_warn_node(r, c, n, CHMOD);
	}
	warn_nodes(c, c->root, r);
}
