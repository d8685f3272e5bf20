// SPDX-License-Identifier: BSD-3-Clause
// A tree of records named by 32-bit index, ordered by the bits of a keyed hash. At depth d the bit
// 63-d of a key's hash says whether it lies left or right. It takes eight bytes a record, no table
// and no balancing. With n records the depth is little more than log2(n), because nobody who lacks
// the hash's key can choose keys that share bits. The caller keeps the records and their keys, and
// looks up like this:
//
//	uint32_t *link = &root;
//	while (*link != TRIE_NONE && !is_it(*link))
//		link = trie_step(&tree, *link, &hash);
//
// The loop ends at the link to the record, or at the link where the record would belong.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define TRIE_NONE UINT32_MAX

struct trie_links {
	uint32_t child[2];
};

// Where the links of the records lie. A root of TRIE_NONE is an empty tree.
struct trie {
	void *links; // struct trie_links of record 0
	size_t stride; // bytes from those of one record to those of the next
};

static inline struct trie_links *trie_at(const struct trie *t, uint32_t i)
{
	return (struct trie_links *)((char *)t->links + i * t->stride);
}

// The link below record i on the path of a hash. The bit that chose it is shifted out of *hash.
static inline uint32_t *trie_step(const struct trie *t, uint32_t i, uint64_t *hash)
{
	uint32_t *link = &trie_at(t, i)->child[*hash >> 63];

	*hash <<= 1;
	return link;
}

// Inserts record i at the link where the look-up of its key has ended.
static inline void trie_insert(const struct trie *t, uint32_t *link, uint32_t i)
{
	*trie_at(t, i) = (struct trie_links){{TRIE_NONE, TRIE_NONE}};
	*link = i;
}

// Removes the record that a link leads to. Links to other records may change.
static inline void trie_remove(const struct trie *t, uint32_t *link)
{
	uint32_t *leaf = link, i;

	// any leaf below it can take its place: their hashes share all bits that led here
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
	// copied only now, after the leaf is cut off: the leaf may have hung on the removed record
	// itself
	*trie_at(t, i) = *trie_at(t, *link);
	*link = i;
}
