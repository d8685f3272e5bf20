// SPDX-License-Identifier: BSD-3-Clause
// Draining: all workers refuse new allocations, and make them again. Public, beside dp.h.
#pragma once

#include <stdbool.h>

struct dp;
struct turn_drain;

// Gives all workers a drain in the place of what they have; NULL: they make allocations again. It
// becomes the data path's. 0; -EBUSY: the last one has not been taken by all yet, and this one
// stays the caller's. Management lcore.
int dp_drain_set(struct dp *d, struct turn_drain *drain);
// Goes on with that, each worker between two of its rounds; does nothing when there is nothing to
// be done. True when all workers have it: from then on no allocation is made that it forbids.
// Management lcore.
bool dp_drain_step(struct dp *d);
