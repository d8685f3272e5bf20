// SPDX-License-Identifier: BSD-3-Clause
// Transaction IDs of our indications. Nobody answers an indication, so an ID must only be new and
// unpredictable (RFC 8489 section 5): it is a keyed hash of a counter. PURE.
#pragma once

#include "hash.h"

// The IDs of a shard; its lcore only.
struct turn_tids {
	struct hash_key key;
	uint64_t made; // number of IDs made
};

// Writes an ID; its first 12 bytes count.
static inline void turn_tids_next(struct turn_tids *t, uint8_t tid[16])
{
	const struct addr count = {.d = {++t->made, 0}};

	hash_addr_wide(&t->key, &count, 0, tid);
}
