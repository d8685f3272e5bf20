// SPDX-License-Identifier: BSD-3-Clause
// Replacement of the rules for new allocations (struct turn_intake) of all workers. Private to
// lib/dp.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "turn_config.h"
#include "turn_shard.h"

struct dp;

// Management lcore.
struct intake {
	struct turn_intake now, next;
	bool under_way;
	uint8_t state[TURN_WORKERS_MAX]; // by worker, while a replacement is in progress
};

// Frees the objects that `now` and `next` refer to. Call it after the workers have stopped.
void intake_free(struct dp *d);
