// SPDX-License-Identifier: BSD-3-Clause
// The worker's side of turn_tallies.h.
#pragma once

#include "events/sums.h"
#include "turn_tallies.h"

// What a worker counts of one realm; it alone writes it.
struct tally {
	struct turn_tally shown;
	struct sums_ahead ahead; // of shown.sums
} __attribute__((aligned(64)));

struct turn_tallies {
	bool any; // there is, or was, a realm beside the first; management writes, workers read
	unsigned int workers;
	struct tally *by_number[TURN_REALM_NUMBERS]; // by number, then worker; NULL = never given
	char *name[TURN_REALM_NUMBERS];
	char **old; // names that have lost their number, nb_old
	uint32_t nb_old;
	uint8_t last; // number that was given last
};
