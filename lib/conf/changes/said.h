// SPDX-License-Identifier: BSD-3-Clause
// What a file says, one key after the other, with the defaults of what it leaves out. Of secrets
// only a keyed hash is kept. Private to lib/conf.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "hash.h"

struct conf_key;
struct conf_node;
struct conf_table;

struct said {
	const struct conf_key *key;
	char *path; // "ports[wan].mtu"
	// In the spelling that compares equal where the values are. Elements of a list have a '\n'
	// between them. NULL: an entry of a list, whose keys follow.
	char *text;
	bool secret; // text is a hash
};

struct conf_said {
	struct said *list; // by path
	uint32_t nb, room;
	struct hash_key hash; // of secrets
	bool failed; // memory has run out
};

// Notes what the tree of a file without errors says, while it has its texts. NULL without memory.
struct conf_said *said_take(
	const struct conf_table *t, const struct conf_node *root, const struct hash_key *hash);
// NULL is fine.
void said_free(struct conf_said *s);
