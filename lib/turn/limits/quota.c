// SPDX-License-Identifier: BSD-3-Clause
// Counts how many allocations each user and each source has, over all workers. The table is cut
// into stripes, each a small open-addressing table behind its own spinlock. An operation holds the
// stripes of its user and of its source together, so no other worker ever sees one counted without
// the other. So a limit is never exceeded, and nobody is refused because of an allocation that was
// then not made.
// Everything is counted whatever the limits say, so that a limit set by a reload is exact at once.
#include "limits/quota.h"
#include "hash.h"
#include "limits/spin.h"

#include <stdatomic.h>
#include <stdlib.h>

// Entries of a stripe, and how many of them a full table uses on average. The fill of a stripe is
// binomial; the margin is six standard deviations, so in practice no stripe overflows.
#define STRIPE_ENTRIES 4096u
#define STRIPE_MEAN 3700u

// An entry is a count and 40 bits of the hash, which tell its key from others of the stripe. With
// the bits that choose the stripe, that makes 49 bits in a table for a million allocations. The
// probability that any two of all users and sources then share a count is one in 300, and that is
// harmless.
#define COUNT_BITS 24
#define COUNT_MAX ((UINT64_C(1) << COUNT_BITS) - 1)
#define TAG_BITS 40

// Any worker takes the lock; only its holder reads and writes the rest.
struct stripe {
	_Atomic uint32_t locked;
	uint32_t used;
	uint64_t entry[STRIPE_ENTRIES]; // tag << COUNT_BITS | count; count 0 = free
} __attribute__((aligned(64)));

struct turn_quota {
	_Atomic uint32_t total; // written by all workers, read by all
	// The same by number of the realm. Nobody counts the first: that costs one realm nothing.
	_Atomic uint32_t of_realm[TURN_REALM_NUMBERS];
	// Constant after create.
	uint32_t nb_stripes;
	struct hash_key key;
	struct stripe *stripes;
};

static uint32_t stripes_for(uint32_t capacity)
{
	// one entry for the user and one for the source of every allocation
	return (uint32_t)(2 * (uint64_t)capacity / STRIPE_MEAN) + 1;
}

size_t turn_quota_size(uint32_t capacity)
{
	return sizeof(struct turn_quota) + (size_t)stripes_for(capacity) * sizeof(struct stripe);
}

struct turn_quota *turn_quota_create(uint32_t capacity, const struct hash_key *key)
{
	const uint32_t nb = stripes_for(capacity);
	struct turn_quota *q = calloc(1, sizeof(*q));

	if (q == NULL)
		return NULL;
	q->key = *key;
	q->nb_stripes = nb;
	q->stripes = aligned_alloc(_Alignof(struct stripe), nb * sizeof(struct stripe));
	if (q->stripes == NULL) {
		free(q);
		return NULL;
	}
	memset(q->stripes, 0, nb * sizeof(struct stripe));
	return q;
}

void turn_quota_free(struct turn_quota *q)
{
	if (q == NULL)
		return;
	free(q->stripes);
	free(q);
}

uint32_t turn_quota_total(const struct turn_quota *q)
{
	return atomic_load_explicit(&q->total, memory_order_relaxed);
}

uint32_t turn_quota_realm(const struct turn_quota *q, uint8_t realm)
{
	return atomic_load_explicit(&q->of_realm[realm], memory_order_acquire);
}

// --- stripes ------------------------------------------------------------------------------------

// The high bits of a hash choose the stripe, its low bits are the tag. The lowest bits of the tag
// choose the place in the stripe. Where a user has the number of his realm, low bits are mixed in:
// else the stripes of a large table would not be filled evenly.
static struct stripe *stripe_of(const struct turn_quota *q, uint64_t hash)
{
	const uint32_t high =
		(uint32_t)(hash >> 32) ^ (uint32_t)(hash & 0xff) << (QUOTA_REALM_SHIFT - 32);

	return &q->stripes[((uint64_t)high * q->nb_stripes) >> 32];
}

static uint32_t count_of(uint64_t entry)
{
	return (uint32_t)(entry & COUNT_MAX);
}

static uint64_t tag_of(uint64_t entry)
{
	return entry >> COUNT_BITS;
}

// Locks the lower address first, so that two workers cannot wait for each other.
static void lock_both(struct stripe *a, struct stripe *b)
{
	spin_lock(a < b ? &a->locked : &b->locked);
	if (a != b)
		spin_lock(a < b ? &b->locked : &a->locked);
}

static void unlock_both(struct stripe *a, struct stripe *b)
{
	spin_unlock(&a->locked);
	if (a != b)
		spin_unlock(&b->locked);
}

// The place of a key, or the free place where it belongs. One place always stays free, so that
// searches end.
static uint64_t *place_of(struct stripe *s, uint64_t hash)
{
	const uint64_t tag = hash & ((UINT64_C(1) << TAG_BITS) - 1);
	uint32_t i = (uint32_t)tag % STRIPE_ENTRIES;

	while (count_of(s->entry[i]) != 0 && tag_of(s->entry[i]) != tag)
		i = (i + 1) % STRIPE_ENTRIES;
	if (count_of(s->entry[i]) == 0)
		s->entry[i] = tag << COUNT_BITS;
	return &s->entry[i];
}

static bool count_up(struct stripe *s, uint64_t hash, uint32_t limit)
{
	uint64_t *e = place_of(s, hash);
	const uint32_t count = count_of(*e);

	if (count == 0) {
		if (s->used == STRIPE_ENTRIES - 1)
			return false;
		s->used++;
	} else if ((limit != 0 && count >= limit) || count == COUNT_MAX) {
		return false;
	}
	++*e;
	return true;
}

// Closes the gap at i: a later entry that a search could no longer reach across the gap moves into
// it.
static void close_gap(struct stripe *s, uint32_t i)
{
	uint32_t next = (i + 1) % STRIPE_ENTRIES;

	while (count_of(s->entry[next]) != 0) {
		const uint32_t home = (uint32_t)tag_of(s->entry[next]) % STRIPE_ENTRIES;

		if ((next - home) % STRIPE_ENTRIES >= (next - i) % STRIPE_ENTRIES) {
			s->entry[i] = s->entry[next];
			i = next;
		}
		next = (next + 1) % STRIPE_ENTRIES;
	}
	s->entry[i] = 0;
}

static void count_down(struct stripe *s, uint64_t hash)
{
	uint64_t *e = place_of(s, hash);

	if (count_of(*e) == 0)
		return;
	--*e;
	if (count_of(*e) == 0) {
		s->used--;
		close_gap(s, (uint32_t)(e - s->entry));
	}
}

// --- an allocation ------------------------------------------------------------------------------

// Counts one more of all. It is no fetch-and-add that is taken back when too high: that would
// refuse others in the meantime.
static bool sum_up(_Atomic uint32_t *sum, uint32_t limit)
{
	uint32_t n = atomic_load_explicit(sum, memory_order_relaxed);

	do {
		if (limit != 0 && n >= limit)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		sum, &n, n + 1, memory_order_relaxed, memory_order_relaxed));
	return true;
}

// Counts one more of a realm, and in total. TURN_GRANTED, or which limit is reached.
static enum turn_refusal sums_up(struct turn_quota *q, const struct turn_limits *l, uint8_t realm)
{
	if (realm != 0 && !sum_up(&q->of_realm[realm], l->of_realm))
		return TURN_REFUSED_QUOTA_REALM;
	if (sum_up(&q->total, l->allocations))
		return TURN_GRANTED;
	if (realm != 0)
		atomic_fetch_sub_explicit(&q->of_realm[realm], 1, memory_order_relaxed);
	return TURN_REFUSED_QUOTA_TOTAL;
}

uint64_t quota_source(const struct turn_quota *q, const struct addr *source)
{
	struct addr a = *source;

	// an IPv6 host can use its whole /64
	if (!addr_is_v4(&a))
		a.d[1] = 0;
	return hash_addr(&q->key, &a, 2);
}

uint64_t quota_user(const struct turn_quota *q, uint8_t realm, const uint8_t ident[TURN_IDENT_LEN])
{
	const struct addr user = addr_from_v6(ident);

	return quota_renumber(hash_addr(&q->key, &user, 1), realm);
}

enum turn_refusal quota_take_ref(
	struct turn_quota *q, const struct turn_limits *l, const struct quota_ref *ref)
{
	const struct quota_ref r = *ref;
	struct stripe *const user = stripe_of(q, r.user);
	struct stripe *const from = stripe_of(q, r.source);
	enum turn_refusal why = TURN_GRANTED;

	lock_both(user, from);
	if (!count_up(user, r.user, l->per_user)) {
		why = TURN_REFUSED_QUOTA_USER;
	} else if (!count_up(from, r.source, l->per_source)) {
		count_down(user, r.user);
		why = TURN_REFUSED_QUOTA_SOURCE;
	} else {
		why = sums_up(q, l, quota_realm(r.user));
		if (why != TURN_GRANTED) {
			count_down(from, r.source);
			count_down(user, r.user);
		}
	}
	unlock_both(user, from);
	return why;
}

enum turn_refusal quota_take(struct turn_quota *q, const struct turn_limits *l,
	const uint8_t ident[TURN_IDENT_LEN], const struct addr *source, struct quota_ref *ref)
{
	const struct quota_ref r = {quota_user(q, l->realm, ident), quota_source(q, source)};
	const enum turn_refusal why = quota_take_ref(q, l, &r);

	if (why == TURN_GRANTED)
		*ref = r;
	return why;
}

bool quota_is(const struct turn_quota *q, const uint8_t ident[TURN_IDENT_LEN],
	const struct addr *source, const struct quota_ref *ref)
{
	return quota_user(q, quota_realm(ref->user), ident) == ref->user &&
		quota_source(q, source) == ref->source;
}

void quota_give(struct turn_quota *q, const struct quota_ref *ref)
{
	struct stripe *const user = stripe_of(q, ref->user);
	struct stripe *const from = stripe_of(q, ref->source);
	const uint8_t realm = quota_realm(ref->user);

	lock_both(user, from);
	count_down(user, ref->user);
	count_down(from, ref->source);
	atomic_fetch_sub_explicit(&q->total, 1, memory_order_relaxed);
	if (realm != 0) // release: whoever sees none left sees all that they have counted
		atomic_fetch_sub_explicit(&q->of_realm[realm], 1, memory_order_release);
	unlock_both(user, from);
}

enum turn_refusal quota_over(
	struct turn_quota *q, const struct turn_limits *l, const struct quota_ref *ref)
{
	struct stripe *const user = stripe_of(q, ref->user);
	struct stripe *const from = stripe_of(q, ref->source);
	uint32_t of_user, of_source;

	lock_both(user, from);
	of_user = count_of(*place_of(user, ref->user));
	of_source = count_of(*place_of(from, ref->source));
	unlock_both(user, from);
	if (l->per_user != 0 && of_user > l->per_user)
		return TURN_REFUSED_QUOTA_USER;
	if (l->per_source != 0 && of_source > l->per_source)
		return TURN_REFUSED_QUOTA_SOURCE;
	if (l->of_realm != 0 && turn_quota_realm(q, quota_realm(ref->user)) > l->of_realm)
		return TURN_REFUSED_QUOTA_REALM;
	if (l->allocations != 0 && turn_quota_total(q) > l->allocations)
		return TURN_REFUSED_QUOTA_TOTAL;
	return TURN_GRANTED;
}
