// SPDX-License-Identifier: BSD-3-Clause
// Whose the questions of the neighbour table are, and how many each may cause (neigh_use_for).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"
#include "bucket.h"
#include "net.h"

#define NEIGH_TRIES 3 // questions that it may take to find a target
#define NEIGH_SHARE_CLAIMS NEIGH_SHARES // of known addresses that somebody else claims
#define NEIGH_SHARE_NONE (NEIGH_SHARES + 1) // nobody's: there is no bound

struct neigh_shares {
	uint32_t asks; // questions a second of the NEIGH_SHARES together; 0: no bound
	struct bucket one[NEIGH_SHARE_NONE];
};

// Whose share: never NEIGH_SHARE_NONE for an asker, whether asks has a bound or not.
uint8_t neigh_shares_of(
	const struct hash_key *key, const struct neigh_asker *asker, const struct addr *target);
// Pays for NEIGH_TRIES questions, or says that there is too little left.
bool neigh_shares_pay(struct neigh_shares *s, uint8_t share, uint64_t now_ms);
// Gives back questions that were paid for and not asked.
void neigh_shares_back(struct neigh_shares *s, uint8_t share, unsigned int questions);
