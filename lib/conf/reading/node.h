// SPDX-License-Identifier: BSD-3-Clause
// The tree of a file: every key and value with its place in the file.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Bytes of a key path as text; the deepest has 38 characters and two indexes.
#define CONF_PATH_LEN 128

enum conf_kind { CONF_SCALAR, CONF_LIST, CONF_MAP };

struct conf_node {
	enum conf_kind kind;
	bool plain; // a scalar without quotes
	bool as_ipv6; // an item of a list of prefixes in IPv6 notation, even if it means IPv4
	uint32_t line, col; // place of the value, from 1
	uint32_t key_line, key_col; // place of the key, if there is one
	uint32_t index; // position among its siblings
	char *key; // NULL if the node is not an entry of a mapping
	// The known key that an unknown one most likely means, or that this key replaces; NULL = no
	// such key
	const char *meant;
	char *text; // text of a scalar, without NUL and control characters
	struct conf_node *parent, *child, *last, *next;
	// The node was read into elements [first, first + count) of field. value.c and read.c write
	// this; conf_node_by_field reads it, so that later checks can point at the node.
	const void *field;
	uint32_t first, count;
	// With included files: the included file that contains the node (NULL = the main file), and
	// the last file that added to it (NULL = no file).
	const char *file, *added;
	bool open; // every user of the host can read the file that the text came from
};

// The child of a mapping with that key. NULL if there is no such child, or map is not a mapping.
struct conf_node *conf_node_child(const struct conf_node *map, const char *key);
// Unlinks a node from its parent and appends it to the children of another.
void conf_node_append(struct conf_node *parent, struct conf_node *n);
void conf_node_remove(struct conf_node *n);

// The node that element index of a field was read from, or NULL if the value is a default.
const struct conf_node *conf_node_by_field(
	const struct conf_node *n, const void *field, uint32_t index);
// Writes the path of a node to buf, such as "ports[0].name". Returns its length, even if it does
// not fit. Only names in the schema may be passed.
size_t conf_node_path(const struct conf_node *n, char *buf, size_t len);
// True if the node lies in a section with passwords (auth, realms).
bool conf_node_in_auth(const struct conf_node *n);
