// SPDX-License-Identifier: BSD-3-Clause
// The worker's side of turn_tallies.h.
#pragma once

#include "events/sums.h"
#include "turn_tallies.h"

// A worker's counts for one realm; only that worker writes them.
struct tally {
	struct turn_tally shown;
	struct sums_ahead ahead; // amounts by which shown.sums is ahead
} __attribute__((aligned(64)));

struct turn_tallies {
	bool any; // there is, or was, a further realm; management writes, workers read
	unsigned int workers;
	// By number, then worker; NULL = never assigned.
	struct tally *by_number[TURN_REALM_NUMBERS];
	char *name[TURN_REALM_NUMBERS];
	char **old; // names that have lost their number, nb_old
	uint32_t nb_old;
	uint8_t last; // number that was assigned last
};
