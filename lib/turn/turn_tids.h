// SPDX-License-Identifier: BSD-3-Clause
// Transaction ids of indications of ours. Nobody answers an indication, so one need only be new
// each time, and such that nobody can foresee it (RFC 8489 section 5): a counter under a keyed
// hash. PURE.
#pragma once

#include "hash.h"

// Those of a shard; its lcore only.
struct turn_tids {
	struct hash_key key;
	uint64_t made; // so far
};

// Writes one, of which the first 12 bytes count.
static inline void turn_tids_next(struct turn_tids *t, uint8_t tid[16])
{
	const struct addr count = {.d = {++t->made, 0}};

	hash_addr_wide(&t->key, &count, 0, tid);
}
