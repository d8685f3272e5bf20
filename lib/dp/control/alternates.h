// SPDX-License-Identifier: BSD-3-Clause
// The alternates that all workers have, and those that take their place. Private to lib/dp.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "turn_config.h"

struct dp;
struct turn_alternates;

// Management lcore.
struct alternates {
	struct turn_alternates *now, *next; // NULL = none: allocations are made
	bool under_way;
	uint8_t state[TURN_WORKERS_MAX]; // of each worker, while it is under way
};

// Frees both. The workers no longer run.
void alternates_free(struct dp *d);
