// SPDX-License-Identifier: BSD-3-Clause
// share.c: who may have how many records of a pool. Every allocation that can exist is sure of a
// few records. What it has beyond them comes from the rest of the pool and counts for its user, who
// may hold only a part of that rest. So nobody can take what another is sure of, and nobody can
// take all of the rest. PURE
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Records that a pool has on top of those, because a record that is given back can be taken again
// only in the next round. One half of them is for allocations that give back sure records and take
// others in the same round. The other half is for the rest of the pool: what is given back beyond
// it in a round counts as held until the round is over.
#define SHARE_SLACK 1024

// One shard owns it; its worker lcore only.
struct share {
	uint32_t sure; // records that each allocation is sure of
	uint32_t size; // records of the rest
	uint32_t most; // records of the rest that one user may hold
	uint32_t held; // records of the rest that are held
	uint32_t given; // records of the rest given back in this round, not to be taken in it
	uint32_t mask; // half the size of of_user - 1
	// How many records of the rest each user holds, in two places that a keyed hash finds,
	// without a tag. Each also counts for whoever shares it. So a user who meets one that holds
	// much in one place loses nothing, and nobody can choose whom he meets in both: one in a
	// million, or fewer where there is more room.
	uint32_t *of_user;
};

// A share of a pool of so many records of the rest, of which one user may hold so many percent: one
// at least, or nobody could have any.
struct share share_part(uint32_t sure, uint32_t size, uint32_t percent);
// Number of records that a pool needs for so many allocations.
uint32_t share_records(const struct share *s, uint32_t allocations);
// Bytes of memory that of_user takes for so many allocations. share_init sets up s with such
// memory, zeroed; the caller has set s->sure, size and most.
size_t share_size(uint32_t allocations);
void share_init(struct share *s, void *of_user, uint32_t allocations);
// Opens a round: everything that was given back in the last one can be taken again.
static inline void share_round(struct share *s)
{
	s->given = 0;
}

// How many records of the rest an allocation with `has` records needs for nb more.
uint32_t share_more(const struct share *s, uint32_t has, uint32_t nb);
// Whether an allocation of a user may have nb more records. user is a keyed hash. has is how many
// records the allocation has; has and nb are at most UINT32_MAX / 2.
bool share_fits(const struct share *s, uint64_t user, uint32_t has, uint32_t nb);
// Counts that an allocation with `has` records takes one more (share_fits has allowed it), or gives
// one back.
void share_take(struct share *s, uint64_t user, uint32_t has);
void share_give(struct share *s, uint64_t user, uint32_t has);
// Counts that an allocation with `has` records gives all of them back.
void share_give_all(struct share *s, uint64_t user, uint32_t has);
