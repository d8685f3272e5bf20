// SPDX-License-Identifier: BSD-3-Clause
// The largest keys, and sums by user: sorted listings keep these of a million allocations. Pure,
// except that it allocates. Private to lib/mgmt.
#pragma once

#include "turn_listing.h"

// The max keys with the largest values; among equal ones those with the smallest ids.
struct ranking {
	struct turn_key *key;
	unsigned int n, max;
};

bool ranking_init(struct ranking *r, unsigned int max); // false without memory
void ranking_put(struct ranking *r, const struct turn_key *k);
// Sorts the kept keys, the largest first. Do not call ranking_put afterwards.
void ranking_sort(struct ranking *r);
void ranking_free(struct ranking *r);

struct tally_row {
	uint64_t user;
	uint64_t id, last; // ids of the user's first and last allocation
	uint64_t sum; // of their values
	uint32_t count; // number of allocations; 0 = a free row
};

// One row for each user. Zero-initialised.
struct tally {
	struct tally_row *row;
	uint32_t size, used; // number of rows, a power of two, and of used ones
};

bool tally_put(struct tally *t, const struct turn_key *k); // false without memory
const struct tally_row *tally_find(const struct tally *t, uint64_t user); // NULL: none
void tally_free(struct tally *t);
