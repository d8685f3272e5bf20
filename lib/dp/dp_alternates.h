// SPDX-License-Identifier: BSD-3-Clause
// Alternates: all workers refuse new allocations and name other servers, and make them again.
// Public, beside dp.h.
#pragma once

#include <stdbool.h>

struct dp;
struct turn_alternates;

// Gives all workers alternates in the place of those they have; NULL: they make allocations again.
// They become the data path's. 0; -EBUSY: the last ones have not been taken by all yet, and these
// stay the caller's. Management lcore.
int dp_alternates_set(struct dp *d, struct turn_alternates *alternates);
// Goes on with that, each worker between two of its rounds; does nothing when there is nothing to
// be done. True when all workers have it: from then on no allocation is made that they forbid.
// Management lcore.
bool dp_alternates_step(struct dp *d);
