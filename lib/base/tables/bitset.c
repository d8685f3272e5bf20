// SPDX-License-Identifier: BSD-3-Clause
// The set: bits, and two levels of counts above them that find the nth member, and the next one.
#include "tables/bitset.h"
#include "invariant.h"

#define WORD 64u
#define BLOCK 512u // numbers
#define RANGE 32768u

static size_t div_round_up(uint32_t n, uint32_t size)
{
	return n / size + (n % size != 0);
}

// Returns the bytes of the bits, which fill whole blocks. Each array begins at a multiple of 8
// bytes.
static size_t words_len(uint32_t n)
{
	return div_round_up(n, BLOCK) * (BLOCK / 8);
}

static size_t blocks_len(uint32_t n)
{
	return (div_round_up(n, BLOCK) * sizeof(uint16_t) + 7) & ~(size_t)7;
}

size_t bitset_size(uint32_t n)
{
	const size_t ranges = div_round_up(n, RANGE) * sizeof(uint32_t);

	return words_len(n) + blocks_len(n) + ((ranges + 7) & ~(size_t)7);
}

void bitset_init(struct bitset *b, void *mem, uint32_t n)
{
	uint8_t *p = mem;

	b->word = (uint64_t *)p;
	b->block = (uint16_t *)(p + words_len(n));
	b->range = (uint32_t *)(p + words_len(n) + blocks_len(n));
	b->used = 0;
}

// Returns the number of members in the block of i.
static inline uint32_t count_block(const struct bitset *b, uint32_t i)
{
	const uint64_t *word = &b->word[i / BLOCK * (BLOCK / WORD)];
	uint32_t n = 0;

	for (unsigned int w = 0; w < BLOCK / WORD; w++)
		n += (uint32_t)__builtin_popcountll(word[w]);
	return n;
}

bool bitset_put(struct bitset *b, uint32_t i, bool member)
{
	if (bitset_has(b, i) == member)
		return false;
	b->word[i / WORD] ^= UINT64_C(1) << i % WORD;
	// adds 1, or UINT32_MAX, which subtracts 1
	b->block[i / BLOCK] = (uint16_t)(b->block[i / BLOCK] + (member ? 1 : -1));
	b->range[i / RANGE] += member ? 1u : UINT32_MAX;
	b->used += member ? 1u : UINT32_MAX;
	ASSERT(b->block[i / BLOCK] == count_block(b, i));
	ASSERT(b->block[i / BLOCK] <= b->range[i / RANGE] && b->range[i / RANGE] <= RANGE);
	ASSERT(b->range[i / RANGE] <= b->used && bitset_has(b, i) == member);
	return true;
}

uint32_t bitset_nth(const struct bitset *b, uint32_t k)
{
	uint32_t range = 0, block, word;
	uint64_t bits;

	ASSERT(k < b->used);
	while (k >= b->range[range])
		k -= b->range[range++];
	block = range * (RANGE / BLOCK);
	while (k >= b->block[block])
		k -= b->block[block++];
	word = block * (BLOCK / WORD);
	while (k >= (uint32_t)__builtin_popcountll(b->word[word]))
		k -= (uint32_t)__builtin_popcountll(b->word[word++]);
	bits = b->word[word];
	ASSERT(k < (uint32_t)__builtin_popcountll(bits));
	for (; k > 0; k--)
		bits &= bits - 1;
	return word * WORD + (uint32_t)__builtin_ctzll(bits);
}

uint32_t bitset_next(const struct bitset *b, uint32_t i, uint32_t n)
{
	while (i < n) {
		const uint64_t bits = b->word[i / WORD] >> i % WORD;

		if (b->range[i / RANGE] == 0)
			i = (i / RANGE + 1) * RANGE;
		else if (b->block[i / BLOCK] == 0)
			i = (i / BLOCK + 1) * BLOCK;
		else if (bits == 0)
			i = (i / WORD + 1) * WORD;
		else
			return i + (uint32_t)__builtin_ctzll(bits);
	}
	return n;
}
