// SPDX-License-Identifier: BSD-3-Clause
// Memory that a configuration needs, and the number of objects that it has room for
// (start/memory.c).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "turn_shard.h"

struct conf;

// Megabytes of memory that dp_start will request from EAL, with a margin. The first function is for
// hugepages, the second one for normal pages (-m), of which it needs more. Both use only the
// configuration, before EAL is up.
size_t dp_memory_mb(const struct conf *c);
size_t dp_memory_normal_mb(const struct conf *c);
// The result of the function for the pages that EAL has. Call it after EAL is up.
size_t dp_memory_here_mb(const struct conf *c);

// Room for allocations, over all workers.
struct dp_pools {
	uint32_t allocations; // that can exist
	struct turn_pools pools;
	size_t bytes; // part of dp_memory_mb that allocations take
};

// Pool sizes for a resolved configuration (workers are set).
void dp_pools(const struct conf *c, struct dp_pools *out);
