// SPDX-License-Identifier: BSD-3-Clause
// Alternates: all workers refuse new allocations and name other servers instead, or stop doing so.
// Public, like dp.h.
#pragma once

#include <stdbool.h>

struct dp;
struct turn_alternates;

// Replaces the alternates of all workers; NULL: they accept allocations again. Returns 0, and then
// the data path owns alternates; or -EBUSY if some worker has not taken the last ones yet, and then
// the caller keeps them. Management lcore.
int dp_alternates_set(struct dp *d, struct turn_alternates *alternates);
// Continues the replacement, each worker between two of its rounds; does nothing if it is complete.
// True if all workers have the new alternates: from then on no allocation is made that they forbid.
// Management lcore.
bool dp_alternates_step(struct dp *d);
