// SPDX-License-Identifier: BSD-3-Clause
// A pool: records of one size in an array. One shard owns it; its worker lcore only.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "invariant.h"
#include "tables/trie.h"

// Free records are chained through one word of their own. A freed record stays in limbo until the
// end of the round, because plans of the round may refer to it; except for that word it keeps its
// contents.
struct turn_pool {
	struct trie chain; // child[0] of a record's links is that word
	uint32_t size;
	uint32_t fresh; // records from here on have never been allocated
	uint32_t head; // of the chain of other free records
	uint32_t limbo_head, limbo_tail;
	uint32_t free, limbo; // numbers of records
};

// Makes a pool of records 0..size-1, all free. links is the struct trie_links in record 0, stride
// the size of a record.
static inline void pool_init(struct turn_pool *p, void *links, size_t stride, uint32_t size)
{
	*p = (struct turn_pool){.chain = {links, stride},
		.size = size,
		.free = size,
		.head = TRIE_NONE,
		.limbo_head = TRIE_NONE};
}

static inline uint32_t *pool_next(const struct turn_pool *p, uint32_t i)
{
	return &trie_at(&p->chain, i)->child[0];
}

// Allocates a record; UINT32_MAX if no record is free.
static inline uint32_t pool_take(struct turn_pool *p)
{
	uint32_t i = p->head;

	if (p->free == 0)
		return UINT32_MAX;
	ASSERT(p->free + p->limbo <= p->size);
	ASSERT(i != TRIE_NONE ? i < p->fresh : p->fresh < p->size);
	p->free--;
	if (i == TRIE_NONE)
		return p->fresh++;
	p->head = *pool_next(p, i);
	return i;
}

// Frees a record; it can be allocated again after the next pool_round.
static inline void pool_give(struct turn_pool *p, uint32_t i)
{
	ASSERT(i < p->fresh && i != p->limbo_head && i != p->head);
	ASSERT(p->free + p->limbo < p->size);
	*pool_next(p, i) = p->limbo_head;
	if (p->limbo_head == TRIE_NONE)
		p->limbo_tail = i;
	p->limbo_head = i;
	p->limbo++;
}

// Opens a round: records in limbo become free.
static inline void pool_round(struct turn_pool *p)
{
	if (p->limbo == 0)
		return;
	ASSERT(p->limbo_head != TRIE_NONE && *pool_next(p, p->limbo_tail) == TRIE_NONE);
	*pool_next(p, p->limbo_tail) = p->head;
	p->head = p->limbo_head;
	p->limbo_head = TRIE_NONE;
	p->free += p->limbo;
	p->limbo = 0;
}

static inline uint32_t pool_used(const struct turn_pool *p)
{
	return p->size - p->free - p->limbo;
}
