// SPDX-License-Identifier: BSD-3-Clause
// Counters of datagrams from peers: on the queue of their worker, and elsewhere.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Datagrams from peers on a port's queues, by family: [is_v4]. One worker writes, any thread reads.
struct steer_counts {
	uint64_t came[2];
	uint64_t elsewhere[2]; // those of them that were handed over
};

// Counts datagrams from peers. These counters are not part of the balance of struct dp_stats, so
// they are visible at once and need not be published.
static inline void steer_count(uint64_t n[2], bool is_v4, uint64_t more)
{
	__atomic_store_n(&n[is_v4], n[is_v4] + more, __ATOMIC_RELEASE);
}
