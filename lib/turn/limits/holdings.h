// SPDX-License-Identifier: BSD-3-Clause
// holdings.c: on how many shared relay addresses each user has each peer, exactly: a count for
// every pair of user and peer that has one. PURE
#pragma once

#include <stdbool.h>

#include "limits/pool.h"
#include "table.h"

struct holding {
	uint64_t who; // a keyed hash of user and peer
	uint32_t count;
	struct trie_links links; // of the pool
};

// Of one shard; its worker lcore only.
struct holdings {
	struct holding *holding;
	struct table table;
	struct turn_pool pool;
};

// Bytes of (64-byte aligned, zeroed) memory for so many pairs at once, and h made in them.
size_t holdings_size(uint32_t capacity);
void holdings_init(struct holdings *h, void *mem, uint32_t capacity);
uint32_t holdings_count(const struct holdings *h, uint64_t who);
// One more; false when there is no room, and then nothing is counted. One less of what was added.
bool holdings_add(struct holdings *h, uint64_t who);
void holdings_remove(struct holdings *h, uint64_t who);
