// SPDX-License-Identifier: BSD-3-Clause
// Parses YAML text into a tree (node.h).
#pragma once

#include <stddef.h>

struct conf_ctx;
struct conf_node;

// Builds the tree of a file. Returns NULL with x->error set on failure. An empty included file
// gives NULL without an error.
struct conf_node *conf_yaml_parse(struct conf_ctx *x, const char *text, size_t len);
// Wipes and frees the tree. NULL is fine.
void conf_yaml_free(struct conf_node *n);
// Wipes the texts of the tree, because some are secrets. It keeps keys, lines and columns.
void conf_yaml_strip(struct conf_node *n);
