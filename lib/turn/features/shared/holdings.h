// SPDX-License-Identifier: BSD-3-Clause
// Exact counts of the shared relay addresses on which each user has each peer. Every pair of user
// and peer with a count above 0 takes one record. PURE
#pragma once

#include <stdbool.h>

#include "limits/pool.h"
#include "tables/table.h"

struct holding {
	uint64_t holder_hash; // a keyed hash of user and peer
	uint32_t count;
	struct trie_links links; // the pool's
};

// One shard owns it; its worker lcore only.
struct holdings {
	struct holding *holding;
	struct table table;
	struct turn_pool pool;
};

// Bytes of memory (64-byte aligned, zeroed) for this number of pairs at a time; holdings_init sets
// up h in it.
size_t holdings_size(uint32_t capacity);
void holdings_init(struct holdings *h, void *mem, uint32_t capacity);
// The count of a pair.
uint32_t holdings_count(const struct holdings *h, uint64_t holder_hash);
// Adds one to the count of a pair; false if there is no room, and nothing is counted.
// holdings_remove subtracts one that was added.
bool holdings_add(struct holdings *h, uint64_t holder_hash);
void holdings_remove(struct holdings *h, uint64_t holder_hash);
