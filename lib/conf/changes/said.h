// SPDX-License-Identifier: BSD-3-Clause
// The values of a file, key by key, with the defaults of keys that it leaves out. Secrets are kept
// only as hashes. Private to lib/conf.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "hash.h"

struct conf;
struct conf_key;
struct conf_node;
struct conf_table;

struct said {
	const struct conf_key *key;
	char *path; // "ports[wan].mtu"
	// In canonical spelling: equal values compare equal. Elements of a list are separated by
	// '\n'. NULL for an entry of a list, whose keys follow, and for a head.
	char *text;
	// The value in use of a key that the file leaves out, if it follows from other keys; else
	// NULL.
	char *derived;
	// Each element of text is a hash: 16 digits of a keyed one, a blank, and the first
	// SAID_DIGITS digits of its SHA-256.
	bool secret;
	bool head; // of a section, or of a list of entries: not in `sorted`
	bool inner; // a head of a section within an entry of a list
	bool elements; // the value is a list
	uint8_t depth; // number of heads and entries around it
	uint32_t line; // place of the key or entry; 0 = the file leaves it out
	const char *file; // NULL = the main file
};

#define SAID_DIGITS 8

struct conf_said {
	struct said *list; // in the order of the schema, and entries in the order of the file
	// By path, without heads and without derived values of keys that have no default.
	const struct said **sorted;
	uint32_t nb, nb_sorted, room;
	struct hash_key hash; // of secrets
	// Copies of the names of included files, because a reload frees the names in the tree.
	struct said_file {
		const char *name; // in the tree
		char *copy;
	} * files;
	uint32_t nb_files, last_file;
	// While the records are made: the table of keys, and the depth of the next record.
	const struct conf_table *table;
	uint8_t depth;
	bool failed; // out of memory
};

// Records the values of a file without errors, while its tree still has its texts. c has the values
// that follow from others. NULL without memory.
struct conf_said *said_take(const struct conf_table *t, const struct conf_node *root,
	const struct hash_key *hash, const struct conf *c);
// NULL is fine.
void said_free(struct conf_said *s);
