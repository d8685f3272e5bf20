// SPDX-License-Identifier: BSD-3-Clause
// How much memory a configuration takes, and what it gives room to (control/memory.c).
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "turn_shard.h"

struct conf;

// Megabytes of memory dp_start will ask EAL for, with room to spare, in hugepages and, for -m, in
// normal pages, of which it takes more. Computed from the configuration alone, before EAL is up.
size_t dp_memory_mb(const struct conf *c);
size_t dp_memory_normal_mb(const struct conf *c);
// The one or the other, by the pages that EAL has. Once EAL is up.
size_t dp_memory_here_mb(const struct conf *c);

// What there is for allocations over all workers.
struct dp_pools {
	uint32_t allocations; // that can exist
	struct turn_pools pools;
	size_t bytes; // what allocations take of dp_memory_mb
};

// What there is by a configuration whose number of workers is known.
void dp_pools(const struct conf *c, struct dp_pools *out);
