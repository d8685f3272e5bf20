// SPDX-License-Identifier: BSD-3-Clause
// Gives all workers and stream threads the blocked addresses and users. Public, like dp.h.
#pragma once

#include <stdbool.h>

struct dp;
struct turn_blocks;
struct turn_judge;

// Begins to give next, which may be NULL, to all. The data path takes ownership of it. more: it
// blocks somebody whom the last set did not block, so allocations may have to end. False without
// memory: nothing has changed, and the caller keeps next. Call it only after dp_blocks_step has
// returned true. Management lcore.
bool dp_blocks_set(struct dp *d, struct turn_blocks *next, bool more);
// Continues, each worker between two of its rounds. True if all have the set, and everything that
// it blocks has ended; *ended then grows by the number of allocations. Management lcore.
bool dp_blocks_step(struct dp *d, unsigned int *ended);
