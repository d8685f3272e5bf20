// SPDX-License-Identifier: BSD-3-Clause
// The largest of many, and sums by user: what sorted listings need to keep of a million
// allocations. Pure, except that it allocates. Private to lib/mgmt.
#pragma once

#include "turn_listing.h"

// The max keys with the largest values; of equal ones those with the smallest ids.
struct ranking {
	struct turn_key *key;
	unsigned int n, max;
};

bool ranking_init(struct ranking *r, unsigned int max); // false without memory
void ranking_put(struct ranking *r, const struct turn_key *k);
// Puts what is kept in order, largest first. No ranking_put afterwards.
void ranking_sort(struct ranking *r);
void ranking_free(struct ranking *r);

struct tally_row {
	uint64_t user;
	uint64_t id, last; // of the user's allocations: the first one put, and the last
	uint64_t sum; // of their values
	uint32_t count; // of allocations; 0 = a free place
};

// One row for each user; all zero at the beginning.
struct tally {
	struct tally_row *row;
	uint32_t size, used; // places, a power of two, and how many are taken
};

bool tally_put(struct tally *t, const struct turn_key *k); // false without memory
const struct tally_row *tally_find(const struct tally *t, uint64_t user); // NULL: none
void tally_free(struct tally *t);
