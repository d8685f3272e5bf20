// SPDX-License-Identifier: BSD-3-Clause
// Rate limits of the neighbour table's requests, by share (neigh_use_for).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"
#include "rates/bucket.h"
#include "net.h"

#define NEIGH_TRIES 3 // most requests to find a target
#define NEIGH_SHARE_CLAIMS NEIGH_SHARES // for known addresses that another host claims
#define NEIGH_SHARE_NONE (NEIGH_SHARES + 1) // no share: without a limit

struct neigh_shares {
	uint32_t asks; // requests a second of all NEIGH_SHARES together; 0: no limit
	struct bucket one[NEIGH_SHARE_NONE];
};

// Returns the share of an asker: never NEIGH_SHARE_NONE unless asker is NULL, even if asks has no
// limit.
uint8_t neigh_shares_of(
	const struct hash_key *key, const struct neigh_asker *asker, const struct addr *target);
// Takes NEIGH_TRIES requests from a share. False if too few are left.
bool neigh_shares_pay(struct neigh_shares *s, uint8_t share, uint64_t now_ms);
// Returns requests that were taken and not sent.
void neigh_shares_back(struct neigh_shares *s, uint8_t share, unsigned int questions);
