// SPDX-License-Identifier: BSD-3-Clause
// The drain that all workers have, and the one that takes its place. Private to lib/dp.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "turn_config.h"

struct dp;
struct turn_drain;

// Management lcore.
struct drain {
	struct turn_drain *now, *next; // NULL = none: allocations are made
	bool under_way;
	uint8_t state[TURN_WORKERS_MAX]; // of each worker, while it is under way
};

// Frees both. The workers no longer run.
void drain_free(struct dp *d);
