// SPDX-License-Identifier: BSD-3-Clause
// The end of what is on addresses that the box is about to lose for others.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct turn_shard;
struct turn_walk;

#define TURN_LEAVE_MAX 32 // relay addresses

// Immutable while workers read it.
struct turn_leave {
	uint32_t relay[TURN_LEAVE_MAX]; // their indices, nb_relay of them
	uint32_t nb_relay;
	uint64_t listener[4]; // by number, as bits
};

// Looks at some more allocations and ends (TURN_END_ADDRESS) those with a relayed transport address
// on one of the relay addresses, and those of clients of the listeners with both of their
// addresses; max at most. Returns how many. As turn_judge_walk (turn_judge.h). The worker.
unsigned int turn_leave_walk(
	struct turn_shard *s, const struct turn_leave *l, struct turn_walk *w, unsigned int max);
