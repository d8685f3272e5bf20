// SPDX-License-Identifier: BSD-3-Clause
// The values of a file, key by key, with the defaults of keys that it leaves out. Secrets are kept
// only as a keyed hash. Private to lib/conf.
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
	// In canonical spelling: equal values compare equal. Elements of a list are separated by
	// '\n'. NULL for an entry of a list, whose keys follow.
	char *text;
	bool secret; // text is a hash
};

struct conf_said {
	struct said *list; // sorted by path
	uint32_t nb, room;
	struct hash_key hash; // of secrets
	bool failed; // out of memory
};

// Records the values of a file without errors, while its tree still has its texts. NULL without
// memory.
struct conf_said *said_take(
	const struct conf_table *t, const struct conf_node *root, const struct hash_key *hash);
// NULL is fine.
void said_free(struct conf_said *s);
