// SPDX-License-Identifier: BSD-3-Clause
// Counts pairs of user and peer, in a table of pooled records.
#include "features/shared/holdings.h"
#include "invariant.h"

static size_t records_size(uint32_t capacity)
{
	return (capacity * sizeof(struct holding) + 63) & ~(size_t)63;
}

size_t holdings_size(uint32_t capacity)
{
	return records_size(capacity) + table_size(capacity);
}

void holdings_init(struct holdings *h, void *mem, uint32_t capacity)
{
	h->holding = mem;
	table_init(&h->table, (uint8_t *)mem + records_size(capacity), capacity);
	pool_init(&h->pool, &h->holding->links, sizeof(*h->holding), capacity);
}

static uint32_t find_holding(const struct holdings *h, uint64_t holder_hash)
{
	struct table_iter it = {0};
	uint32_t i;

	while (table_next(&h->table, holder_hash, &it, &i))
		if (h->holding[i].holder_hash == holder_hash)
			return i;
	return UINT32_MAX;
}

uint32_t holdings_count(const struct holdings *h, uint64_t holder_hash)
{
	const uint32_t i = find_holding(h, holder_hash);

	return i != UINT32_MAX ? h->holding[i].count : 0;
}

bool holdings_add(struct holdings *h, uint64_t holder_hash)
{
	uint32_t i = find_holding(h, holder_hash);

	if (i == UINT32_MAX) {
		i = pool_take(&h->pool);
		if (i == UINT32_MAX)
			return false;
		if (!table_insert(&h->table, holder_hash, i)) {
			pool_give(&h->pool, i);
			pool_round(&h->pool);
			return false;
		}
		h->holding[i] = (struct holding){.holder_hash = holder_hash};
	}
	h->holding[i].count++;
	ASSERT(h->table.used == pool_used(&h->pool));
	return true;
}

void holdings_remove(struct holdings *h, uint64_t holder_hash)
{
	const uint32_t i = find_holding(h, holder_hash);

	ASSERT(i != UINT32_MAX && h->holding[i].count > 0);
	if (--h->holding[i].count > 0)
		return;
	table_remove(&h->table, holder_hash, i);
	pool_give(&h->pool, i);
	pool_round(&h->pool); // at once: no plan refers to the record
	ASSERT(h->table.used == pool_used(&h->pool));
}
