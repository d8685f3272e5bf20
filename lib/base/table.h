// SPDX-License-Identifier: BSD-3-Clause
// Fixed-capacity hash index: 64-byte buckets of eight 16-bit tags and eight 32-bit values. Keys are
// not stored: a look-up yields candidate values and the caller verifies the key in its own record.
// Two choices per key, no moves; sized for at most 50 % load, where an insert practically never
// fails. Single writer, no locks. Memory is the caller's.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define TABLE_WAYS 8

struct table_bucket {
	uint16_t tag[TABLE_WAYS]; // 0 = free
	uint32_t value[TABLE_WAYS];
	uint32_t displaced; // entries that belong here but live in their second bucket
	uint32_t pad[3];
} __attribute__((aligned(64)));

struct table {
	struct table_bucket *bucket;
	uint32_t mask; // number of buckets - 1
	uint32_t used;
};

// Position of a look-up. Start it with {0}.
struct table_iter {
	uint8_t way, second;
};

// Bytes of bucket memory (64-byte aligned) for up to capacity entries.
size_t table_size(uint32_t capacity);
// mem is zeroed by the caller and outlives the table.
void table_init(struct table *t, void *mem, uint32_t capacity);

static inline uint16_t table_tag(uint64_t hash)
{
	const uint16_t tag = (uint16_t)(hash >> 48);

	return tag != 0 ? tag : 1;
}

static inline struct table_bucket *table_first(const struct table *t, uint64_t hash)
{
	return &t->bucket[(uint32_t)hash & t->mask];
}

static inline void table_prefetch(const struct table *t, uint64_t hash)
{
	__builtin_prefetch(table_first(t, hash));
}

// Bit w is set where tag[w] equals tag.
static inline uint32_t table_match(const struct table_bucket *b, uint16_t tag)
{
#ifdef __SSE2__
	const __m128i tags = _mm_load_si128((const __m128i *)b->tag);
	const __m128i eq = _mm_cmpeq_epi16(tags, _mm_set1_epi16((short)tag));

	return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(eq, _mm_setzero_si128()));
#else
	uint32_t bits = 0;

	for (unsigned int w = 0; w < TABLE_WAYS; w++)
		bits |= (uint32_t)(b->tag[w] == tag) << w;
	return bits;
#endif
}

// The other bucket of a hash, never the first one: the distance is odd and there are at least two.
static inline struct table_bucket *table_second(const struct table *t, uint64_t hash)
{
	const uint32_t distance = (uint32_t)(hash >> 32) * 0x9e3779b1u;

	return &t->bucket[((uint32_t)hash ^ (distance >> 8 | 1)) & t->mask];
}

// First candidate value for hash, or absent: what table_next gives first, inline.
static inline uint32_t table_guess(const struct table *t, uint64_t hash, uint32_t absent)
{
	const uint16_t tag = table_tag(hash);
	const struct table_bucket *b = table_first(t, hash);
	uint32_t hits = table_match(b, tag);

	if (hits == 0 && b->displaced != 0) {
		b = table_second(t, hash);
		hits = table_match(b, tag);
	}
	return hits != 0 ? b->value[__builtin_ctz(hits)] : absent;
}

// Next candidate value for hash, or false when there is none left. Bounded: at most 16 steps.
bool table_next(const struct table *t, uint64_t hash, struct table_iter *it, uint32_t *value);
// False when both buckets are full. The key must not be in the table.
bool table_insert(struct table *t, uint64_t hash, uint32_t value);
// Removes the entry with exactly this hash and value; false when there is none.
bool table_remove(struct table *t, uint64_t hash, uint32_t value);
