// SPDX-License-Identifier: BSD-3-Clause
// Entries of folded events: their keys, counts and queue.
#include "fold.h"

#define EXPIRE_BUDGET 8 // entries per call
#define NONE UINT16_MAX

void fold_init(struct fold *f, struct fold_entry *entry)
{
	f->entry = entry;
	f->oldest = f->newest = NONE;
}

static void entry_end(struct fold *f, uint16_t i)
{
	struct fold_entry *e = &f->entry[i];

	if (e->older != NONE)
		f->entry[e->older].newer = e->newer;
	else
		f->oldest = e->newer;
	if (e->newer != NONE)
		f->entry[e->newer].older = e->older;
	else
		f->newest = e->older;
	e->used = false;
	if (e->more > 0)
		f->tell(f->ctx, i, e->more);
}

static void entry_begin(struct fold *f, uint16_t i, uint64_t key, uint64_t now_ms)
{
	f->entry[i] = (struct fold_entry){
		.key = key, .since_ms = now_ms, .older = f->newest, .newer = NONE, .used = true};
	if (f->newest != NONE)
		f->entry[f->newest].newer = i;
	else
		f->oldest = i;
	f->newest = i;
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
	e->more += e->more < UINT32_MAX;
	return false;
}

bool fold_expire(struct fold *f, uint64_t now_ms)
{
	for (unsigned int i = 0; i < EXPIRE_BUDGET; i++) {
		if (f->oldest == NONE || !is_over(&f->entry[f->oldest], now_ms))
			return false;
		entry_end(f, f->oldest);
	}
	return f->oldest != NONE && is_over(&f->entry[f->oldest], now_ms);
}

uint64_t fold_next_ms(const struct fold *f)
{
	return f->oldest != NONE ? f->entry[f->oldest].since_ms + FOLD_MS : UINT64_MAX;
}

void fold_flush(struct fold *f)
{
	while (f->oldest != NONE)
		entry_end(f, f->oldest);
}
