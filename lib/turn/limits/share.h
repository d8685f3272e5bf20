// SPDX-License-Identifier: BSD-3-Clause
// share.c: who may have how many records of a pool. Every allocation that can exist is sure of a
// few. What one has beyond them is of the rest of the pool, and counts for its user, who may hold a
// part of that. So nobody can take what another is sure of, nor all of the rest. PURE
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// More records than that, since what is given back can be taken again only when a round is over.
// One half is for those who end some of what they are sure of and make others in the same round; of
// what is beyond that, more than the other half given back in a round counts as held until it is
// over.
#define SHARE_SLACK 1024
#define SHARE_SURE_MAX 16 // records that an allocation can be sure of

// Of one shard; its worker lcore only.
struct share {
	uint32_t sure; // records of each allocation
	uint32_t size; // beyond these
	uint32_t most; // of size for one user
	uint32_t held; // of size
	uint32_t given; // back in this round: records that cannot be taken in it
	uint32_t mask; // of of_user
	// Records beyond the sure ones by user, found by a keyed hash, without a tag: users who
	// fall on one count as one, which costs them nothing that they are sure of.
	uint32_t *of_user;
};

// Records that a pool for so many allocations has.
uint32_t share_records(const struct share *s, uint32_t allocations);
// Bytes of of_user for so many allocations, zeroed. And s, of which sure, size and most are set,
// made with them.
size_t share_size(uint32_t allocations);
void share_init(struct share *s, void *of_user, uint32_t allocations);
// Opens a round: all that was given back in the last one is there again.
void share_round(struct share *s);

// user: a keyed hash. has: records of the allocation, at most UINT32_MAX / 2 as nb is.
// Whether an allocation of user may have nb more.
bool share_fits(const struct share *s, uint64_t user, uint32_t has, uint32_t nb);
// It has one more than has now, which fitted; one less.
void share_take(struct share *s, uint64_t user, uint32_t has);
void share_give(struct share *s, uint64_t user, uint32_t has);
// It has none any more.
void share_give_all(struct share *s, uint64_t user, uint32_t has);
