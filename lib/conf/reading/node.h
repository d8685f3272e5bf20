// SPDX-License-Identifier: BSD-3-Clause
// The tree that the text of a file becomes: every key and value with its place in the file.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONF_PATH_LEN \
	128 // bytes of a key path as text; the deepest has 38 characters and two indexes

enum conf_kind { CONF_SCALAR, CONF_LIST, CONF_MAP };

struct conf_node {
	enum conf_kind kind;
	bool plain; // a scalar without quotes
	bool as_ipv6; // an entry of a list of prefixes that is written as IPv6, whatever it is
	uint32_t line, col; // where the value stands, from 1
	uint32_t key_line, key_col; // where the key stands, when there is one
	uint32_t index; // position among its siblings
	char *key; // NULL when the node is no entry of a mapping
	// The known key that an unknown one was most likely meant to be, or that a key is given in
	// place of; NULL = none
	const char *meant;
	char *text; // text of a scalar, without NUL and control characters
	struct conf_node *parent, *child, *last, *next;
	// The node was read into elements [first, first + count) of field. value.c and read.c
	// write this; conf_node_of reads it, so that a later check can point at the node.
	const void *field;
	uint32_t first, count;
	// Where not all is of one file: the included file that the node stands in (NULL = the one
	// that includes), and the one that has added to it last (NULL = none).
	const char *file, *added;
	bool open; // everybody on the host can read the file that its text has come from
};

// The child of a mapping under that key; NULL where there is none, or where map is no mapping.
struct conf_node *conf_node_child(const struct conf_node *map, const char *key);
// Puts a node behind the last child of another; takes it out of where it is.
void conf_node_append(struct conf_node *parent, struct conf_node *n);
void conf_node_remove(struct conf_node *n);

// The node that element index of a field was read from; NULL when the value is a default.
const struct conf_node *conf_node_of(
	const struct conf_node *root, const void *field, uint32_t index);
// Writes the path of a node to buf, such as "ports[0].name". Returns its length, even where it does
// not fit. Only names in the schema ever get here.
size_t conf_node_path(const struct conf_node *n, char *buf, size_t len);
// True when the node lies where passwords are written (auth, realms).
bool conf_node_in_auth(const struct conf_node *n);
