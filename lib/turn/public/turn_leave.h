// SPDX-License-Identifier: BSD-3-Clause
// Ends the allocations on addresses that the box is about to lose to others.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct turn_shard;
struct turn_walk;

#define TURN_LEAVE_MAX 32 // relay addresses

// Immutable while workers read it.
struct turn_leave {
	uint32_t relay[TURN_LEAVE_MAX]; // indices of the relay addresses, nb_relay of them
	uint32_t nb_relay;
	uint64_t listener[4]; // bit mask of listener numbers
};

// Checks some more allocations, and ends (TURN_END_ADDRESS) at most max of them: those with a
// relayed transport address on one of the relay addresses, and both allocations of each client of
// the listeners. Returns their number. Works like turn_judge_walk (turn_judge.h). Worker's lcore.
unsigned int turn_leave_walk(
	struct turn_shard *s, const struct turn_leave *l, struct turn_walk *w, unsigned int max);
