// SPDX-License-Identifier: BSD-3-Clause
// The alternates of all workers, and their successors. Private to lib/dp.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "turn_config.h"

struct dp;
struct turn_alternates;

// Management lcore.
struct alternates {
	struct turn_alternates *now, *next; // NULL = no alternates: allocations are made
	bool under_way;
	uint8_t state[TURN_WORKERS_MAX]; // by worker, while a replacement is in progress
};

// Frees both. Call it after the workers have stopped.
void alternates_free(struct dp *d);
