// SPDX-License-Identifier: BSD-3-Clause
// Reads the text of a file into a struct.
#pragma once

struct conf_ctx;
struct conf_key;
struct conf_node;
struct conf_table;

// Builds the tree of the file that is being read or included. Returns NULL after an error, or
// without an error if an included file is empty.
struct conf_node *conf_read_tree(struct conf_ctx *x);
// Reads x->path, with its included files, into x->root, and that tree into base by x->keys. 0 or
// -EINVAL. In both cases the caller frees the tree with conf_yaml_free, and the values in base with
// conf_read_free.
int conf_read_file(struct conf_ctx *x, void *base);
// Reads the keys below parent (NULL: all keys) from a mapping into base. After a wrong key it
// continues with the others. 0 or -EINVAL.
int conf_read_map(
	struct conf_ctx *x, const struct conf_key *parent, struct conf_node *map, void *base);
// Wipes and frees the values of all keys below parent (NULL: all keys): any of them may be a
// secret.
void conf_read_free(const struct conf_table *t, const struct conf_key *parent, void *base);
