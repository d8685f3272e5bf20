// SPDX-License-Identifier: BSD-3-Clause
// A tree of records with 32-bit indexes, ordered by the bits of a keyed hash. At depth d, bit 63-d
// of a key's hash chooses left or right. It needs eight bytes per record, no table and no
// balancing. With n records the depth is little more than log2(n), because without the hash key
// nobody can choose keys that share bits. The caller keeps the records and their keys, and looks up
// like this:
//
//	uint32_t *link = &root;
//	while (*link != TRIE_NONE && !is_it(*link))
//		link = trie_step(&tree, *link, &hash);
//
// The loop ends at the link to the record, or at the link where the record would belong.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "invariant.h"

#define TRIE_NONE UINT32_MAX

struct trie_links {
	uint32_t child[2];
};

// The location of the links of the records. A root of TRIE_NONE is an empty tree.
struct trie {
	void *links; // struct trie_links of record 0
	size_t stride; // bytes from the links of one record to those of the next
};

static inline struct trie_links *trie_at(const struct trie *t, uint32_t i)
{
	return (struct trie_links *)((char *)t->links + i * t->stride);
}

// Returns the link below record i on the path of a hash, and shifts the bit that chose it out of
// *hash.
static inline uint32_t *trie_step(const struct trie *t, uint32_t i, uint64_t *hash)
{
	uint32_t *link = &trie_at(t, i)->child[*hash >> 63];

	*hash <<= 1;
	return link;
}

// Inserts record i at the link where the look-up of its key ended.
static inline void trie_insert(const struct trie *t, uint32_t *link, uint32_t i)
{
	ASSERT(*link == TRIE_NONE && i != TRIE_NONE);
	*trie_at(t, i) = (struct trie_links){{TRIE_NONE, TRIE_NONE}};
	*link = i;
}

// Removes the record that a link points to. Links to other records may change.
static inline void trie_remove(const struct trie *t, uint32_t *link)
{
	uint32_t *leaf = link, i;

	ASSERT(*link != TRIE_NONE);
	// any leaf below it can replace it: their hashes share all bits of the path to here
	for (;;) {
		const struct trie_links *l = trie_at(t, *leaf);

		if (l->child[0] == TRIE_NONE && l->child[1] == TRIE_NONE)
			break;
		leaf = &trie_at(t, *leaf)->child[l->child[0] == TRIE_NONE];
	}
	i = *leaf;
	*leaf = TRIE_NONE;
	if (leaf == link)
		return;
	// copy only now, after the leaf is unlinked: the leaf may be a child of the removed record
	*trie_at(t, i) = *trie_at(t, *link);
	ASSERT(trie_at(t, i)->child[0] != i && trie_at(t, i)->child[1] != i);
	*link = i;
}
