// SPDX-License-Identifier: BSD-3-Clause
// The counters of a worker, and their snapshots for other threads.
#pragma once

#include <stdint.h>

#include <rte_common.h>

#include "dp.h"

struct worker;

// Snapshot of the counters: sequence lock. Written by the worker only, read by any thread.
struct stats_page {
	uint32_t sequence; // odd during a write
	struct dp_stats stats;
} __rte_cache_aligned;

// Class of a burst of n packets, 1..DP_BURST: the logarithm, rounded up.
static inline unsigned int stats_class(unsigned int n)
{
	return 31 - (unsigned int)__builtin_clz(2 * n - 1);
}

// Publishes the current counters. Call it at a round boundary.
void stats_publish(struct worker *w);
