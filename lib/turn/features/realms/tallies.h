// SPDX-License-Identifier: BSD-3-Clause
// The worker's side of turn_tallies.h.
#pragma once

#include "events/sums.h"
#include "turn_tallies.h"

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

// The worker's tally for an allocation's realm; NULL for the first realm.
struct tally *tallies_of(const struct turn_shard *s, uint32_t slot);
// A shard that has had only one realm needs no function call.
#define TALLIES_OF(s, slot)                                                            \
	((s)->tallies != NULL && __atomic_load_n(&(s)->tallies->any, __ATOMIC_RELAXED) \
			? tallies_of(s, slot)                                          \
			: NULL)
