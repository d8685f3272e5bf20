// SPDX-License-Identifier: BSD-3-Clause
// Fixed-capacity hash index: 64-byte buckets of ten 16-bit tags and ten 32-bit values. Keys are not
// stored: a look-up returns candidate values, and the caller verifies the key in its record. Each
// key has two possible buckets, and entries never move. Sized for at most 62 % load, where an
// insert practically never fails: 10.3 bytes per entry. Single writer, no locks; the caller
// provides the memory.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define TABLE_WAYS 10

struct table_bucket {
	uint16_t tag[TABLE_WAYS]; // 0 = free
	uint16_t displaced; // entries whose first bucket is this, but that are in their second one
	uint16_t pad;
	uint32_t value[TABLE_WAYS];
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct table_bucket) == 64, "one cache line");

struct table {
	struct table_bucket *bucket;
	uint32_t nb_buckets; // any number: rounding up to a power of two would waste memory
	uint32_t used;
};

// Position of a look-up. Start it with {0}.
struct table_iter {
	uint8_t next_way, second;
};

// Returns the bytes of bucket memory (64-byte aligned) for up to capacity entries.
size_t table_size(uint32_t capacity);
// Makes an empty table in mem, which is table_size(capacity) bytes, zeroed by the caller, and
// outlives the table.
void table_init(struct table *t, void *mem, uint32_t capacity);

static inline uint16_t table_tag(uint64_t hash)
{
	return (uint16_t)(hash >> 48) | 1; // 0 marks a free way
}

static inline struct table_bucket *table_first(const struct table *t, uint64_t hash)
{
	return &t->bucket[(uint64_t)(uint32_t)hash * t->nb_buckets >> 32];
}

static inline void table_prefetch(const struct table *t, uint64_t hash)
{
	__builtin_prefetch(table_first(t, hash));
}

// Returns a mask: bit w is set if tag[w] equals tag.
static inline uint32_t table_match(const struct table_bucket *b, uint16_t tag)
{
#ifdef __SSE2__
	// the second half has two tags, and the next fields of the bucket
	const __m128i wanted = _mm_set1_epi16((short)tag), *half = (const __m128i *)b;
	const __m128i lo = _mm_cmpeq_epi16(_mm_load_si128(half), wanted);
	const __m128i hi = _mm_cmpeq_epi16(_mm_load_si128(half + 1), wanted);

	return (uint32_t)_mm_movemask_epi8(_mm_packs_epi16(lo, hi)) & ((1u << TABLE_WAYS) - 1);
#else
	uint32_t bits = 0;

	for (unsigned int w = 0; w < TABLE_WAYS; w++)
		bits |= (uint32_t)(b->tag[w] == tag) << w;
	return bits;
#endif
}

// Returns the second bucket of a hash. It is never the first one: the distance is at least 1 and
// less than nb_buckets.
static inline struct table_bucket *table_second(const struct table *t, uint64_t hash)
{
	const uint32_t mixed = (uint32_t)(hash >> 32) * 0x9e3779b1u;
	const uint32_t distance = 1 + (uint32_t)((uint64_t)mixed * (t->nb_buckets - 1) >> 32);
	const uint32_t pos = (uint32_t)(table_first(t, hash) - t->bucket) + distance;

	return &t->bucket[pos < t->nb_buckets ? pos : pos - t->nb_buckets];
}

// Returns the first candidate value for hash, or absent: the first result of table_next, but
// inline. b is table_first(t, hash).
static inline uint32_t table_guess(
	const struct table *t, const struct table_bucket *b, uint64_t hash, uint32_t absent)
{
	const uint16_t tag = table_tag(hash);
	uint32_t hits = table_match(b, tag);

	if (hits == 0 && b->displaced != 0) {
		b = table_second(t, hash);
		hits = table_match(b, tag);
	}
	return hits != 0 ? b->value[(unsigned int)__builtin_ctz(hits)] : absent;
}

// Gets the next candidate value for hash, or returns false if there are no more: at most 20 in
// total.
bool table_next(const struct table *t, uint64_t hash, struct table_iter *it, uint32_t *value);
// Inserts an entry, whose key must not be in the table. False if both its buckets are full.
bool table_insert(struct table *t, uint64_t hash, uint32_t value);
// Removes the entry with exactly this hash and value; false if it is not in the table.
bool table_remove(struct table *t, uint64_t hash, uint32_t value);
