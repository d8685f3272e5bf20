// SPDX-License-Identifier: BSD-3-Clause
// From the text of a file to the struct that its keys fill.
#pragma once

struct conf_ctx;
struct conf_key;
struct conf_node;
struct conf_table;

// The tree of the file that is being read or included. NULL with an error told, or without one for
// an included file that is empty.
struct conf_node *conf_read_tree(struct conf_ctx *x);
// Reads x->path, with what it includes, into x->root, and that into base by x->keys. 0 or
// -EINVAL. In either case the caller frees the tree with conf_yaml_free, and what base holds with
// conf_read_free.
int conf_read_file(struct conf_ctx *x, void *base);
// Reads the keys below parent (NULL: all keys) from a mapping into base. After a wrong key it goes
// on to the others. 0 or -EINVAL.
int conf_read_map(
	struct conf_ctx *x, const struct conf_key *parent, struct conf_node *map, void *base);
// Wipes and frees what the keys below parent own (NULL: all keys): any of it may be a secret.
void conf_read_free(const struct conf_table *t, const struct conf_key *parent, void *base);
