// SPDX-License-Identifier: BSD-3-Clause
// Folds refusals by source and reason, and remembers attempts.
#include "limits/refusals.h"
#include "invariant.h"
#include "turn_refusal.h"

#define WAYS 4u
#define SETS 32u // of proved and of unproved senders, each
#define OWN (2 * SETS * WAYS)
#define REASONS (TURN_REFUSAL_END + TURN_CONNECTION_REASONS) // of requests, then of connections
#define ENTRIES (OWN + REASONS) // after the sets, one entry per reason for the rest
#define ATTEMPTS 1024u // of proved and of unproved senders, each

struct attempt {
	uint32_t tag; // 0 = unused
	uint32_t at_s;
};

struct refusals {
	struct hash_key key;
	void (*tell)(void *ctx, const struct turn_event *e);
	void *ctx;
	struct fold fold; // by keyed hash of source and reason
	struct fold_entry entry[ENTRIES];
	struct turn_event last[ENTRIES];
	struct attempt attempt[2][ATTEMPTS]; // by proved
};

size_t refusals_size(void)
{
	return sizeof(struct refusals);
}

static void tell_more(void *ctx, uint16_t i, uint32_t more)
{
	struct refusals *r = ctx;

	r->last[i].more = more;
	if (r->tell != NULL)
		r->tell(r->ctx, &r->last[i]);
}

struct refusals *refusals_create(void *mem, const struct hash_key *key,
	void (*tell)(void *ctx, const struct turn_event *e), void *ctx)
{
	struct refusals *r = mem;

	r->key = *key;
	r->tell = tell;
	r->ctx = ctx;
	fold_init(&r->fold, r->entry);
	r->fold.tell = tell_more;
	r->fold.ctx = r;
	return r;
}

struct fold *refusals_fold(struct refusals *r)
{
	return &r->fold;
}

bool refusals_again(struct refusals *r, uint64_t attempt, bool proved, uint64_t now_ms)
{
	struct attempt *a = &r->attempt[proved][attempt % ATTEMPTS];
	const uint32_t tag = (uint32_t)(attempt >> 32) | 1, now_s = (uint32_t)(now_ms / 1000);
	const bool again = a->tag == tag && now_s - a->at_s < REFUSALS_ATTEMPT_S;

	if (!again) // the time is that of the first one
		*a = (struct attempt){tag, now_s};
	return again;
}

static unsigned int reason_of(const struct turn_event *event)
{
	return event->kind == TURN_EVENT_CONNECTION ? TURN_REFUSAL_END + event->reason
						    : event->reason;
}

// Key of a source and a reason.
static uint64_t key_of(const struct refusals *r, const struct turn_event *event)
{
	const struct addr source = addr_source(&event->client.addr);

	return hash_addr(&r->key, &source, reason_of(event));
}

static bool same_name(const struct turn_event *a, const struct turn_event *b)
{
	return a->name_len == b->name_len && memcmp(a->name, b->name, a->name_len) == 0;
}

// Reports or counts a refusal in an entry.
static void take_refusal(
	struct refusals *r, uint16_t i, uint64_t key, const struct turn_event *event)
{
	struct turn_event *last = &r->last[i];
	bool others;

	if (fold_count(&r->fold, i, key, event->at_ms)) {
		last->others = false;
		if (r->tell != NULL)
			r->tell(r->ctx, event);
		return;
	}
	// the name of the reported refusal does not matter: that was another event
	others = last->others || (r->entry[i].more > 1 && !same_name(last, event));
	*last = *event;
	last->others = others;
}

void refusals_take(struct refusals *r, const struct turn_event *event)
{
	const uint64_t key = key_of(r, event);
	const uint16_t first = (uint16_t)((key % SETS + (event->proved ? SETS : 0)) * WAYS);
	const uint16_t i = fold_find(&r->fold, first, WAYS, key);
	const uint16_t rest = (uint16_t)(OWN + reason_of(event));

	ASSERT(i >= first && i < first + WAYS && first < OWN && rest < ENTRIES);
	if (event->proved || fold_has_room(&r->fold, i, key, event->at_ms))
		return take_refusal(r, i, key, event);
	take_refusal(r, rest, 0, event);
	r->last[rest].client = (struct endpoint){0};
}
