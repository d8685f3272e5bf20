// SPDX-License-Identifier: BSD-3-Clause
// The nodes of a file's tree: the fields they were read into, and their paths.
#include "reading/node.h"

#include <stdio.h>
#include <string.h>

#include "conf_features.h"

const struct conf_node *conf_node_by_field(
	const struct conf_node *n, const void *field, uint32_t index)
{
	for (; n != NULL; n = n->next) {
		const struct conf_node *below;

		if (n->field == field && index >= n->first && index - n->first < n->count)
			return n;
		below = conf_node_by_field(n->child, field, index);
		if (below != NULL)
			return below;
	}
	return NULL;
}

size_t conf_node_path(const struct conf_node *n, char *buf, size_t len)
{
	size_t used = 0;

	if (n->parent == NULL)
		return 0;
	used = conf_node_path(n->parent, buf, len);
	if (used >= len)
		return used;
	if (n->key == NULL)
		used += (size_t)snprintf(buf + used, len - used, "[%u]", n->index);
	else
		used += (size_t)snprintf(
			buf + used, len - used, "%s%s", used > 0 ? "." : "", n->key);
	return used;
}

struct conf_node *conf_node_child(const struct conf_node *map, const char *key)
{
	struct conf_node *n = map != NULL && map->kind == CONF_MAP ? map->child : NULL;

	while (n != NULL && strcmp(n->key, key) != 0)
		n = n->next;
	return n;
}

void conf_node_append(struct conf_node *parent, struct conf_node *n)
{
	if (n->parent != NULL)
		conf_node_remove(n);
	n->parent = parent;
	if (parent->last == NULL)
		parent->child = n;
	else
		parent->last->next = n;
	n->index = parent->last != NULL ? parent->last->index + 1 : 0;
	parent->last = n;
}

void conf_node_remove(struct conf_node *n)
{
	struct conf_node **slot = &n->parent->child, *before = NULL;

	for (; *slot != n; slot = &(*slot)->next)
		before = *slot;
	*slot = n->next;
	if (n->parent->last == n)
		n->parent->last = before;
	n->next = NULL;
	n->parent = NULL;
}

bool conf_node_in_auth(const struct conf_node *n)
{
	char path[CONF_PATH_LEN] = "";

	conf_node_path(n->parent, path, sizeof(path));
#define X(section) || strncmp(path, section, strlen(section)) == 0
	return strncmp(path, "auth", 4) == 0 CONF_ACCOUNTS(X);
#undef X
}
