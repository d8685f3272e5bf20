// SPDX-License-Identifier: BSD-3-Clause
// Replaces the policy of all workers; dp.h has the public functions.
#pragma once

struct dp;

// Frees an incomplete reload. Call it after workers have stopped.
void reload_free(struct dp *d);
