// SPDX-License-Identifier: BSD-3-Clause
// Refusals, folded by source and reason, and the memory of attempts. Entries are found in sets of a
// few, and all that are in use form a queue by their beginning.
#include "limits/fold.h"
#include "turn_refusal.h"

#define WAYS 4u
#define SETS 32u // of proved and of unproved senders, each
#define OWN (2 * SETS * WAYS)
#define REASONS (TURN_REFUSAL_END + TURN_CONNECTION_REASONS) // of requests, then of connections
#define ENTRIES (OWN + REASONS) // behind the sets, one for the rest of each reason
#define ATTEMPTS 1024u // of proved and of unproved senders, each
#define EXPIRE_BUDGET 8 // entries a call
#define NONE UINT16_MAX

struct entry {
	uint64_t key; // keyed hash of source and reason
	uint64_t since_ms;
	uint16_t older, newer;
	bool used;
	struct turn_event last; // more: how many since the event that was told
};

struct attempt {
	uint32_t tag; // 0 = none
	uint32_t at_s;
};

struct fold {
	struct hash_key key;
	void (*tell)(void *ctx, const struct turn_event *e);
	void *ctx;
	uint16_t oldest, newest;
	struct entry entry[ENTRIES];
	struct attempt attempt[2][ATTEMPTS]; // by proved
};

size_t fold_size(void)
{
	return sizeof(struct fold);
}

struct fold *fold_create(void *mem, const struct hash_key *key,
	void (*tell)(void *ctx, const struct turn_event *e), void *ctx)
{
	struct fold *f = mem;

	f->key = *key;
	f->tell = tell;
	f->ctx = ctx;
	f->oldest = f->newest = NONE;
	return f;
}

bool fold_again(struct fold *f, uint64_t attempt, bool proved, uint64_t now_ms)
{
	struct attempt *a = &f->attempt[proved][attempt % ATTEMPTS];
	const uint32_t tag = (uint32_t)(attempt >> 32) | 1, now_s = (uint32_t)(now_ms / 1000);
	const bool again = a->tag == tag && now_s - a->at_s < FOLD_ATTEMPT_S;

	if (!again) // the time is that of the first
		*a = (struct attempt){tag, now_s};
	return again;
}

static void tell_event(const struct fold *f, const struct turn_event *e)
{
	if (f->tell != NULL)
		f->tell(f->ctx, e);
}

// --- entries -------------------------------------------------------------------------------------

// Ends an entry, and tells what it has counted.
static void entry_end(struct fold *f, uint16_t i)
{
	struct entry *e = &f->entry[i];

	if (e->older != NONE)
		f->entry[e->older].newer = e->newer;
	else
		f->oldest = e->newer;
	if (e->newer != NONE)
		f->entry[e->newer].older = e->older;
	else
		f->newest = e->older;
	e->used = false;
	if (e->last.more > 0)
		tell_event(f, &e->last);
}

// Begins an entry with a refusal that is told at once.
static void entry_begin(struct fold *f, uint16_t i, uint64_t key, const struct turn_event *event)
{
	f->entry[i] = (struct entry){.key = key,
		.since_ms = event->at_ms,
		.older = f->newest,
		.newer = NONE,
		.used = true};
	if (f->newest != NONE)
		f->entry[f->newest].newer = i;
	else
		f->oldest = i;
	f->newest = i;
	tell_event(f, event);
}

static bool is_over(const struct entry *e, uint64_t now_ms)
{
	return now_ms - e->since_ms >= FOLD_MS;
}

// The entry of a key in its set, else a free one, else the oldest.
static uint16_t entry_find(const struct fold *f, bool proved, uint64_t key)
{
	const uint16_t first = (uint16_t)((key % SETS + (proved ? SETS : 0)) * WAYS);
	uint16_t best = first;

	for (uint16_t i = first; i < first + WAYS; i++) {
		const struct entry *e = &f->entry[i], *b = &f->entry[best];

		if (e->used && e->key == key)
			return i;
		if (b->used && (!e->used || e->since_ms < b->since_ms))
			best = i;
	}
	return best;
}

static unsigned int reason_of(const struct turn_event *event)
{
	return event->kind == TURN_EVENT_CONNECTION ? TURN_REFUSAL_END + event->reason
						    : event->reason;
}

// What names a source and a reason.
static uint64_t key_of(const struct fold *f, const struct turn_event *event)
{
	const struct addr source = addr_source(&event->client.addr);

	return hash_addr(&f->key, &source, reason_of(event));
}

static bool same_name(const struct turn_event *a, const struct turn_event *b)
{
	return a->name_len == b->name_len && memcmp(a->name, b->name, a->name_len) == 0;
}

// Counts a refusal like the one that was told last.
static void entry_count(struct entry *e, const struct turn_event *event)
{
	const uint32_t more = e->last.more;
	const bool others = e->last.others || (more > 0 && !same_name(&e->last, event));

	e->last = *event;
	e->last.others = others;
	e->last.more = more < UINT32_MAX ? more + 1 : more;
}

// Tells or counts a refusal in an entry, which ends first if it is another's or past its time.
static void entry_take(struct fold *f, uint16_t i, uint64_t key, const struct turn_event *event)
{
	struct entry *e = &f->entry[i];

	if (e->used && (e->key != key || is_over(e, event->at_ms)))
		entry_end(f, i);
	if (e->used)
		entry_count(e, event);
	else
		entry_begin(f, i, key, event);
}

void fold_refused(struct fold *f, const struct turn_event *event)
{
	const uint64_t key = key_of(f, event);
	const uint16_t i = entry_find(f, event->proved, key);
	const struct entry *e = &f->entry[i];
	const uint16_t rest = (uint16_t)(OWN + reason_of(event));

	if (event->proved || !e->used || e->key == key || is_over(e, event->at_ms))
		return entry_take(f, i, key, event);
	entry_take(f, rest, 0, event);
	f->entry[rest].last.client = (struct endpoint){0};
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
