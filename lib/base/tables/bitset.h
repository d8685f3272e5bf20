// SPDX-License-Identifier: BSD-3-Clause
// A set of numbers below a limit: one bit for each number, and 3 % more for counts. The counts find
// the nth smallest member in bounded steps, so that a uniform choice needs one random number.
// Single owner; the caller provides the memory.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bitset {
	uint64_t *word;
	uint16_t *block; // members in each 8 words
	uint32_t *range; // members in each 64 blocks
	uint32_t used; // number of members
};

// Returns the bytes of memory (8-byte aligned) for a set of numbers below n.
size_t bitset_size(uint32_t n);
// Makes an empty set in mem, which is bitset_size(n) bytes, zeroed by the caller, and outlives the
// set.
void bitset_init(struct bitset *b, void *mem, uint32_t n);
// Makes i (below n) a member or removes it. True if that changed the set.
bool bitset_put(struct bitset *b, uint32_t i, bool member);
// Returns the member with k smaller ones; k < used. Reads one count for each 32,768 numbers, then
// takes at most 80 steps.
uint32_t bitset_nth(const struct bitset *b, uint32_t k);

// Returns the smallest member at or above i of a set of numbers below n, or n if there is no such
// member. Skips 512 or 32,768 numbers at a time where there are no members.
uint32_t bitset_next(const struct bitset *b, uint32_t i, uint32_t n);

static inline bool bitset_has(const struct bitset *b, uint32_t i)
{
	return (b->word[i / 64] >> i % 64 & 1) != 0;
}
