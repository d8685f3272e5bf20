// SPDX-License-Identifier: BSD-3-Clause
// A set of numbers below a bound: one bit for each number, and 3 % more for counts. The counts find
// the nth smallest member in bounded steps, so that a uniform choice takes one random number.
// Single owner; the caller provides the memory.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bitset {
	uint64_t *word;
	uint16_t *block; // members in each 8 words
	uint32_t *range; // members in each 64 blocks
	uint32_t used; // members in all
};

// Bytes of memory (8-byte aligned) that a set of numbers below n takes.
size_t bitset_size(uint32_t n);
// Makes an empty set in mem, which is bitset_size(n) bytes, zeroed by the caller, and outlives the
// set.
void bitset_init(struct bitset *b, void *mem, uint32_t n);
// Makes i (below n) a member or removes it. True when that changed anything.
bool bitset_put(struct bitset *b, uint32_t i, bool member);
// The member that has k smaller ones; k < used. Looks at one count for each 32,768 numbers, then
// takes at most 80 steps.
uint32_t bitset_nth(const struct bitset *b, uint32_t k);

// The smallest member that is not below i, of a set of numbers below n; n when there is none.
// Passes over 512 numbers at a time, or 32,768, where there are no members.
uint32_t bitset_next(const struct bitset *b, uint32_t i, uint32_t n);

static inline bool bitset_has(const struct bitset *b, uint32_t i)
{
	return (b->word[i / 64] >> i % 64 & 1) != 0;
}
