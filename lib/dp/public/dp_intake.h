// SPDX-License-Identifier: BSD-3-Clause
// Tells all workers which new allocations to refuse. Public, like dp.h.
#pragma once

#include <stdbool.h>

struct dp;
struct turn_intake;

// Begins to tell all workers. The data path takes ownership of the objects that *next refers to.
// Call it only after dp_intake_step has returned true. Management lcore.
void dp_intake_set(struct dp *d, const struct turn_intake *next);
// Continues, each worker between two of its rounds; does nothing if all workers know. True if all
// of them know: from then on no allocation is made that they have to refuse. Management lcore.
bool dp_intake_step(struct dp *d);
