// SPDX-License-Identifier: BSD-3-Clause
// A set of numbers below a bound, one bit each and 3 % for counts, from which the nth smallest is
// found in bounded steps: a uniform choice is one random number. Single owner. Memory is the
// caller's.
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

// Bytes of memory (8-byte aligned) for numbers below n.
size_t bitset_size(uint32_t n);
// mem is zeroed by the caller and outlives the set, which is empty.
void bitset_init(struct bitset *b, void *mem, uint32_t n);
// Makes i, below n, a member or not; true when that changed anything.
bool bitset_put(struct bitset *b, uint32_t i, bool member);
// The member that has k smaller ones; k < used. Steps: a look at each 32,768 numbers, then 80.
uint32_t bitset_nth(const struct bitset *b, uint32_t k);

static inline bool bitset_has(const struct bitset *b, uint32_t i)
{
	return (b->word[i / 64] >> i % 64 & 1) != 0;
}
