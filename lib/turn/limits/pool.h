// SPDX-License-Identifier: BSD-3-Clause
// Records of one size in an array, taken and given back. One shard's; its worker lcore only.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "trie.h"

// Free records of a pool, chained through a word of their own. What is freed rests in limbo until
// the round is over, because plans of the round may name it: but for that word it stays as it was.
struct turn_pool {
	struct trie chain; // of which child[0] is that word
	uint32_t size;
	uint32_t fresh; // those from here on have never been taken
	uint32_t head; // of the others that may be taken
	uint32_t limbo_head, limbo_tail;
	uint32_t free, limbo; // how many
};

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

static inline uint32_t pool_take(struct turn_pool *p)
{
	uint32_t i = p->head;

	if (p->free == 0)
		return UINT32_MAX;
	p->free--;
	if (i == TRIE_NONE)
		return p->fresh++;
	p->head = *pool_next(p, i);
	return i;
}

static inline void pool_give(struct turn_pool *p, uint32_t i)
{
	*pool_next(p, i) = p->limbo_head;
	if (p->limbo_head == TRIE_NONE)
		p->limbo_tail = i;
	p->limbo_head = i;
	p->limbo++;
}

static inline void pool_round(struct turn_pool *p)
{
	if (p->limbo == 0)
		return;
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
