// SPDX-License-Identifier: BSD-3-Clause
// Entries of folded events: their keys, counts and queue.
#include "tables/fold.h"
#include "invariant.h"

#define EXPIRE_BUDGET 8 // entries per call

static struct ilist_links age_links(const struct fold *f)
{
	return ILIST_LINKS(f->entry, by_age);
}

void fold_init(struct fold *f, struct fold_entry *entry)
{
	f->entry = entry;
	f->by_age = ILIST_EMPTY;
}

static void entry_end(struct fold *f, uint32_t i)
{
	struct fold_entry *e = &f->entry[i];

	ASSERT(e->used);
	ilist_remove(&f->by_age, age_links(f), i);
	e->used = false;
	if (e->more > 0)
		f->tell(f->ctx, (uint16_t)i, e->more);
}

static void entry_begin(struct fold *f, uint32_t i, uint64_t key, uint64_t now_ms)
{
	ASSERT(!f->entry[i].used);
	ASSERT(f->by_age.last == ILIST_NONE || f->entry[f->by_age.last].since_ms <= now_ms);
	f->entry[i] = (struct fold_entry){.key = key, .since_ms = now_ms, .used = true};
	ilist_append(&f->by_age, age_links(f), i);
}

static bool is_over(const struct fold_entry *e, uint64_t now_ms)
{
	return now_ms - e->since_ms >= FOLD_MS;
}

uint16_t fold_find(const struct fold *f, uint16_t first, uint16_t ways, uint64_t key)
{
	uint16_t best = first;

	for (uint16_t i = first; i < first + ways; i++) {
		const struct fold_entry *e = &f->entry[i], *b = &f->entry[best];

		if (e->used && e->key == key)
			return i;
		if (b->used && (!e->used || e->since_ms < b->since_ms))
			best = i;
	}
	return best;
}

bool fold_has_room(const struct fold *f, uint16_t i, uint64_t key, uint64_t now_ms)
{
	const struct fold_entry *e = &f->entry[i];

	return !e->used || e->key == key || is_over(e, now_ms);
}

bool fold_count(struct fold *f, uint16_t i, uint64_t key, uint64_t now_ms)
{
	struct fold_entry *e = &f->entry[i];

	if (e->used && (e->key != key || is_over(e, now_ms)))
		entry_end(f, i);
	if (!e->used) {
		entry_begin(f, i, key, now_ms);
		return true;
	}
	ASSERT(e->key == key && now_ms - e->since_ms < FOLD_MS);
	e->more += e->more < UINT32_MAX;
	return false;
}

// True if the oldest entry in use has expired.
static bool is_due(const struct fold *f, uint64_t now_ms)
{
	return f->by_age.first != ILIST_NONE && is_over(&f->entry[f->by_age.first], now_ms);
}

bool fold_expire(struct fold *f, uint64_t now_ms)
{
	for (unsigned int i = 0; i < EXPIRE_BUDGET && is_due(f, now_ms); i++)
		entry_end(f, f->by_age.first);
	return is_due(f, now_ms);
}

uint64_t fold_next_ms(const struct fold *f)
{
	return f->by_age.first != ILIST_NONE ? f->entry[f->by_age.first].since_ms + FOLD_MS
					     : UINT64_MAX;
}

void fold_flush(struct fold *f)
{
	while (f->by_age.first != ILIST_NONE)
		entry_end(f, f->by_age.first);
}
