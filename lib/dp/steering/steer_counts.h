// SPDX-License-Identifier: BSD-3-Clause
// How many datagrams from peers came in on the queue of their worker, and how many elsewhere.
#pragma once

#include <stdbool.h>
#include <stdint.h>

// Datagrams from peers as they came in on a port's queues, by family: [is_v4]. Written by one
// worker, read by any thread.
struct steer_counts {
	uint64_t came[2];
	uint64_t elsewhere[2]; // those of them that were handed over
};

// Counts datagrams from peers. These counters take no part in the balance, so they are seen at once
// and not published.
static inline void steer_count(uint64_t n[2], bool is_v4, uint64_t more)
{
	__atomic_store_n(&n[is_v4], n[is_v4] + more, __ATOMIC_RELEASE);
}
