// SPDX-License-Identifier: BSD-3-Clause
// Replacement of the blocks of all workers and stream threads (dp_blocks.h). Private to lib/dp.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "turn_config.h"
#include "turn_listing.h"

struct dp;
struct turn_blocks;
struct turn_judge;

// Management lcore, except shown.
struct blocks_swap {
	struct turn_blocks *now, *next;
	const struct turn_blocks *shown; // to stream threads, under the lock of the policy
	struct turn_judge *judge; // of next
	bool under_way, more;
	uint8_t state[TURN_WORKERS_MAX]; // by worker, while a replacement is in progress
	struct turn_walk walk[TURN_WORKERS_MAX]; // by worker: position of the judge
	unsigned int ended;
};

// Frees the sets. Call it after workers and stream threads have stopped.
void blocks_swap_free(struct dp *d);
