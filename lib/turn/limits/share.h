// SPDX-License-Identifier: BSD-3-Clause
// Divides a pool among users. Every possible allocation has a few guaranteed records. Further
// records come from the rest of the pool and count for the user, who may hold only a part of that
// rest. So nobody can take another allocation's guaranteed records, and nobody can take all of the
// rest. PURE
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Extra records of a pool, because a freed record can be allocated again only in the next round.
// One half is for allocations that free guaranteed records and allocate others in the same round.
// The other half is for the rest of the pool: records freed beyond it in a round count as held
// until the round is over.
#define SHARE_SLACK 1024

// One shard owns it; its worker lcore only.
struct share {
	uint32_t sure; // guaranteed records of each allocation
	uint32_t size; // records of the rest
	uint32_t most; // records of the rest that one user may hold
	uint32_t held; // records of the rest that are held
	uint32_t given; // records of the rest freed in this round, which cannot be allocated in it
	uint32_t mask; // half the size of of_user - 1
	// Numbers of records of the rest that users hold. Each user counts in two counters that a
	// keyed hash finds, without a tag; both also count for other users with that counter. So a
	// user who shares one counter with a heavy user loses nothing, and nobody can choose with
	// whom to share both: that happens to one in a million, or fewer if there is more room.
	uint32_t *of_user;
};

// A share of a pool whose rest has size records. One user may hold this percentage of the rest, and
// at least one record.
struct share share_part(uint32_t sure, uint32_t size, uint32_t percent);
// Number of records that a pool needs for this number of allocations.
uint32_t share_records(const struct share *s, uint32_t allocations);
// Bytes of memory of of_user for this number of allocations. share_init sets up s with such memory,
// zeroed; the caller has set s->sure, size and most.
size_t share_size(uint32_t allocations);
void share_init(struct share *s, void *of_user, uint32_t allocations);
// Opens a round: all records freed in the last one can be allocated again.
static inline void share_round(struct share *s)
{
	s->given = 0;
}

// Number of records of the rest that an allocation with `has` records needs for nb more.
uint32_t share_more(const struct share *s, uint32_t has, uint32_t nb);
// True if an allocation of a user may have nb more records. user is a keyed hash. has is the number
// of records of the allocation; has and nb are at most UINT32_MAX / 2.
bool share_fits(const struct share *s, uint64_t user, uint32_t has, uint32_t nb);
// Counts that an allocation with `has` records allocates one more (share_fits has allowed it), or
// frees one.
void share_take(struct share *s, uint64_t user, uint32_t has);
void share_give(struct share *s, uint64_t user, uint32_t has);
// Counts that an allocation with `has` records frees all of them.
void share_give_all(struct share *s, uint64_t user, uint32_t has);
