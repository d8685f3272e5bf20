// SPDX-License-Identifier: BSD-3-Clause
// How many allocations each user and each source has, over all workers. The table is cut into
// stripes, each a small open-addressing table behind its own spinlock. An operation holds the
// stripes of its user and of its source together, so that no other worker ever sees one counted
// without the other: a limit is never passed, and nobody is refused for an allocation that was then
// not made.
// Everything is counted whatever the limits say, so that one set by a reload is exact at once.
#include "turn_int.h"

#include <stdatomic.h>
#include <stdlib.h>

// Entries of a stripe, and how many a full table puts into it on average. The fill of a stripe is
// binomial: the margin is more than ten standard deviations, so in practice none overflows.
#define STRIPE_ENTRIES 512u
#define STRIPE_MEAN 320u

// The lock is taken by any worker; all else is read and written by its holder only.
struct stripe {
	_Atomic uint32_t locked;
	uint32_t used;
	uint64_t key[STRIPE_ENTRIES];
	uint32_t count[STRIPE_ENTRIES]; // 0 = free
} __attribute__((aligned(64)));

struct turn_quota {
	_Atomic uint32_t total; // written by all workers, read by all
	// Constant after create.
	uint32_t nb_stripes;
	struct hash_key key;
	struct stripe *stripes;
};

struct turn_quota *turn_quota_create(uint32_t capacity, const struct hash_key *key)
{
	// one entry for the user and one for the source of every allocation
	const uint64_t entries = 2 * (uint64_t)capacity;
	const uint32_t nb = (uint32_t)(entries / STRIPE_MEAN) + 1;
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

// --- stripes ------------------------------------------------------------------------------------

// The high half of a hash chooses the stripe, the low half the place in it.
static struct stripe *stripe_of(const struct turn_quota *q, uint64_t hash)
{
	return &q->stripes[((hash >> 32) * q->nb_stripes) >> 32];
}

static void lock(struct stripe *s)
{
	while (atomic_exchange_explicit(&s->locked, 1, memory_order_acquire) != 0) {
		while (atomic_load_explicit(&s->locked, memory_order_relaxed) != 0) {
#ifdef __x86_64__
			__builtin_ia32_pause();
#endif
		}
	}
}

static void unlock(struct stripe *s)
{
	atomic_store_explicit(&s->locked, 0, memory_order_release);
}

// Lower address first: two workers cannot wait for each other.
static void lock_both(struct stripe *a, struct stripe *b)
{
	lock(a < b ? a : b);
	if (a != b)
		lock(a < b ? b : a);
}

static void unlock_both(struct stripe *a, struct stripe *b)
{
	unlock(a);
	if (a != b)
		unlock(b);
}

// Place of a key, or the free place where it belongs. One place always stays free: searches end.
static uint32_t place_of(const struct stripe *s, uint64_t hash)
{
	uint32_t i = (uint32_t)hash % STRIPE_ENTRIES;

	while (s->count[i] != 0 && s->key[i] != hash)
		i = (i + 1) % STRIPE_ENTRIES;
	return i;
}

static bool count_up(struct stripe *s, uint64_t hash, uint32_t limit)
{
	const uint32_t i = place_of(s, hash);

	if (s->count[i] == 0) {
		if (s->used == STRIPE_ENTRIES - 1)
			return false;
		s->used++;
		s->key[i] = hash;
	} else if (limit != 0 && s->count[i] >= limit) {
		return false;
	}
	s->count[i]++;
	return true;
}

// Closes the gap at i: an entry further on that would not be found past it moves into it.
static void close_gap(struct stripe *s, uint32_t i)
{
	uint32_t next = (i + 1) % STRIPE_ENTRIES;

	while (s->count[next] != 0) {
		const uint32_t home = (uint32_t)s->key[next] % STRIPE_ENTRIES;

		if ((next - home) % STRIPE_ENTRIES >= (next - i) % STRIPE_ENTRIES) {
			s->key[i] = s->key[next];
			s->count[i] = s->count[next];
			i = next;
		}
		next = (next + 1) % STRIPE_ENTRIES;
	}
	s->count[i] = 0;
}

static void count_down(struct stripe *s, uint64_t hash)
{
	const uint32_t i = place_of(s, hash);

	if (s->count[i] > 1) {
		s->count[i]--;
	} else if (s->count[i] == 1) {
		s->used--;
		close_gap(s, i);
	}
}

// --- an allocation ------------------------------------------------------------------------------

// Not a fetch-and-add taken back when too high: that would refuse others in the meantime.
static bool total_up(struct turn_quota *q, uint32_t limit)
{
	uint32_t n = atomic_load_explicit(&q->total, memory_order_relaxed);

	do {
		if (limit != 0 && n >= limit)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		&q->total, &n, n + 1, memory_order_relaxed, memory_order_relaxed));
	return true;
}

static struct quota_ref ref_of(
	const struct turn_quota *q, const uint8_t ident[TURN_IDENT_LEN], const struct addr *source)
{
	const struct addr user = addr_from_v6(ident);
	struct addr a = *source;

	// whoever has an IPv6 address has its /64
	if (!addr_is_v4(&a))
		a.d[1] = 0;
	return (struct quota_ref){
		.user = hash_addr(&q->key, &user, 1),
		.source = hash_addr(&q->key, &a, 2),
	};
}

bool quota_take(struct turn_quota *q, const struct turn_limits *l,
	const uint8_t ident[TURN_IDENT_LEN], const struct addr *source, struct quota_ref *ref)
{
	const struct quota_ref r = ref_of(q, ident, source);
	struct stripe *const user = stripe_of(q, r.user);
	struct stripe *const from = stripe_of(q, r.source);
	bool ok;

	lock_both(user, from);
	ok = count_up(user, r.user, l->per_user);
	if (ok && !count_up(from, r.source, l->per_source)) {
		count_down(user, r.user);
		ok = false;
	}
	if (ok && !total_up(q, l->allocations)) {
		count_down(from, r.source);
		count_down(user, r.user);
		ok = false;
	}
	unlock_both(user, from);
	if (ok)
		*ref = r;
	return ok;
}

bool quota_is(const struct turn_quota *q, const uint8_t ident[TURN_IDENT_LEN],
	const struct addr *source, const struct quota_ref *ref)
{
	const struct quota_ref r = ref_of(q, ident, source);

	return r.user == ref->user && r.source == ref->source;
}

void quota_give(struct turn_quota *q, const struct quota_ref *ref)
{
	struct stripe *const user = stripe_of(q, ref->user);
	struct stripe *const from = stripe_of(q, ref->source);

	lock_both(user, from);
	count_down(user, ref->user);
	count_down(from, ref->source);
	atomic_fetch_sub_explicit(&q->total, 1, memory_order_relaxed);
	unlock_both(user, from);
}
