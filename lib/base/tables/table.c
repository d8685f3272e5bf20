// SPDX-License-Identifier: BSD-3-Clause
// Makes the index, inserts, removes, and walks the candidates; the first guess is inline in
// table.h.
#include "tables/table.h"
#include "invariant.h"

// If the first bucket has at least this many entries, a new entry goes to the emptier of its two
// buckets. Simulated at full capacity with churn over 131,072 buckets: with 7, one insert in six
// million fails, and 69 % of the entries are in their first bucket.
#define FIRST_FILL 7
#define FILL_QUARTERS 25 // entries in four buckets of a full table

static uint32_t bucket_count(uint32_t capacity)
{
	const uint32_t wanted =
		(uint32_t)(((uint64_t)capacity * 4 + FILL_QUARTERS - 1) / FILL_QUARTERS);

	return wanted <= 2 ? 2 : wanted;
}

size_t table_size(uint32_t capacity)
{
	return (size_t)bucket_count(capacity) * sizeof(struct table_bucket);
}

void table_init(struct table *t, void *mem, uint32_t capacity)
{
	t->bucket = mem;
	t->nb_buckets = bucket_count(capacity);
	t->used = 0;
}

bool table_next(const struct table *t, uint64_t hash, struct table_iter *it, uint32_t *value)
{
	const uint16_t tag = table_tag(hash);
	const struct table_bucket *b = table_first(t, hash);
	uint32_t hits;

	if (it->second == 0) {
		hits = table_match(b, tag) >> it->next_way << it->next_way;
		if (hits != 0)
			goto hit;
		if (b->displaced == 0)
			return false;
		*it = (struct table_iter){.second = 1};
	}
	b = table_second(t, hash);
	hits = table_match(b, tag) >> it->next_way << it->next_way;
	if (hits == 0)
		return false;
hit:
	it->next_way = (uint8_t)(__builtin_ctz(hits) + 1);
	*value = b->value[it->next_way - 1];
	return true;
}

static void put_entry(struct table_bucket *b, uint32_t free_ways, uint16_t tag, uint32_t value)
{
	const unsigned int w = (unsigned int)__builtin_ctz(free_ways);

	ASSERT(w < TABLE_WAYS && b->tag[w] == 0);
	b->tag[w] = tag;
	b->value[w] = value;
}

// True if the table has an entry with exactly this hash and value.
static inline bool has_entry(const struct table *t, uint64_t hash, uint32_t value)
{
	struct table_iter it = {0};
	uint32_t v;

	while (table_next(t, hash, &it, &v))
		if (v == value)
			return true;
	return false;
}

bool table_insert(struct table *t, uint64_t hash, uint32_t value)
{
	struct table_bucket *first = table_first(t, hash);
	struct table_bucket *second = table_second(t, hash);
	const uint32_t free1 = table_match(first, 0);
	const int nb_free1 = __builtin_popcount(free1);
	uint32_t free2 = 0;

	ASSERT(first != second);
	ASSERT(first->displaced <= t->used && t->used <= t->nb_buckets * TABLE_WAYS);
	ASSERT(!has_entry(t, hash, value));
	if (nb_free1 <= TABLE_WAYS - FIRST_FILL)
		free2 = table_match(second, 0);
	if (__builtin_popcount(free2) > nb_free1) {
		put_entry(second, free2, table_tag(hash), value);
		first->displaced++;
	} else if (free1 != 0) {
		put_entry(first, free1, table_tag(hash), value);
	} else {
		return false;
	}
	t->used++;
	ASSERT(has_entry(t, hash, value));
	return true;
}

static bool remove_entry(struct table_bucket *b, uint16_t tag, uint32_t value)
{
	for (uint32_t hits = table_match(b, tag); hits != 0; hits &= hits - 1) {
		const unsigned int w = (unsigned int)__builtin_ctz(hits);

		if (b->value[w] == value) {
			b->tag[w] = 0;
			return true;
		}
	}
	return false;
}

bool table_remove(struct table *t, uint64_t hash, uint32_t value)
{
	struct table_bucket *first = table_first(t, hash);

	if (!remove_entry(first, table_tag(hash), value)) {
		if (first->displaced == 0 ||
			!remove_entry(table_second(t, hash), table_tag(hash), value))
			return false;
		first->displaced--;
	}
	ASSERT(t->used > 0);
	t->used--;
	ASSERT(first->displaced <= t->used);
	return true;
}
