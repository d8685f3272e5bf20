// SPDX-License-Identifier: BSD-3-Clause
// Counts the allocations of each user, each source and each IPv6 /48, over all workers. The table
// is divided into stripes, each a small open-addressing table behind its own spinlock. An operation
// holds the stripes of all its keys together, so no other worker ever sees one counted without the
// others. So a limit is never exceeded, and no request is refused because of an allocation that was
// not made in the end.
// Counts do not depend on the limits, so that a limit set by a reload is exact at once.
#include "limits/quota.h"
#include "hash.h"
#include "invariant.h"
#include "limits/stripe.h"

#include <stdatomic.h>
#include <stdlib.h>

#define NETWORK 8 // allocations of an IPv6 /48, in multiples of per-source

struct turn_quota {
	_Atomic uint32_t total; // written by all workers, read by all
	// Counts by number of the realm. The first realm is not counted: with one realm this costs
	// nothing.
	_Atomic uint32_t of_realm[TURN_REALM_NUMBERS];
	// Constant after create.
	struct hash_key key;
	struct striped stripes;
};

// One entry for the user and one for the source of every allocation. Networks get the remaining
// ones.
static uint64_t entries_for(uint32_t capacity)
{
	return 2 * (uint64_t)capacity;
}

size_t turn_quota_size(uint32_t capacity)
{
	return sizeof(struct turn_quota) +
		striped_size(entries_for(capacity), sizeof(struct stripe));
}

struct turn_quota *turn_quota_create(uint32_t capacity, const struct hash_key *key)
{
	struct turn_quota *q = calloc(1, sizeof(*q));

	if (q == NULL)
		return NULL;
	q->key = *key;
	if (striped_create(&q->stripes, entries_for(capacity), sizeof(struct stripe)) == 0)
		return q;
	free(q);
	return NULL;
}

void turn_quota_free(struct turn_quota *q)
{
	if (q == NULL)
		return;
	striped_free(&q->stripes);
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

// The high bits of a hash select the stripe, its low bits are the tag. The lowest bits of the tag
// select the entry in the stripe. Some of the high bits of a user are the number of the realm, so
// low bits are mixed in: else the stripes of a large table would fill unevenly.
static struct stripe *stripe_of(const struct turn_quota *q, uint64_t hash)
{
	const uint32_t high =
		(uint32_t)(hash >> 32) ^ (uint32_t)(hash & 0xff) << (QUOTA_REALM_SHIFT - 32);

	return striped_stripe(&q->stripes, striped_find(&q->stripes, high));
}

// --- the keys of an allocation ------------------------------------------------------------------

enum { BY_USER, BY_SOURCE, BY_NETWORK, BY_MOST };

struct keys {
	unsigned int nb; // only IPv6 has the network key
	uint64_t hash[BY_MOST];
	struct stripe *in[BY_MOST];
	struct stripe *lock[BY_MOST + 1]; // those stripes in the order of their addresses, and NULL
};

static void key_add(const struct turn_quota *q, struct keys *k, uint64_t hash)
{
	struct stripe *const in = stripe_of(q, hash);
	unsigned int i = k->nb;

	for (; i > 0 && k->lock[i - 1] > in; i--)
		k->lock[i] = k->lock[i - 1];
	ASSERT(k->nb < BY_MOST && (i == 0 || k->lock[i - 1] <= in));
	k->lock[i] = in;
	k->lock[k->nb + 1] = NULL;
	k->hash[k->nb] = hash;
	k->in[k->nb++] = in;
}

static void keys_of(const struct turn_quota *q, const struct quota_ref *r, struct keys *k)
{
	// As the first half of an IPv6 address this would be 0:ffff::/32, which nobody has.
	const bool is_v4 = (uint32_t)r->source == 0xffff0000;
	struct addr a = {.d = {is_v4 ? 0 : r->source, is_v4 ? r->source : 0}};

	k->nb = 0;
	key_add(q, k, r->user & ~STRIPE_NETWORK);
	key_add(q, k, hash_addr(&q->key, &a, 2) & ~STRIPE_NETWORK);
	if (is_v4)
		return;
	a = addr_network(&a);
	key_add(q, k, hash_addr(&q->key, &a, 3) | STRIPE_NETWORK);
}

// All workers lock in one order, so that no two of them can wait for each other.
static void keys_lock(const struct keys *k)
{
	for (unsigned int i = 0; i < k->nb; i++)
		if (k->lock[i] != k->lock[i + 1])
			spin_lock(&k->lock[i]->locked);
}

static void keys_unlock(const struct keys *k)
{
	for (unsigned int i = 0; i < k->nb; i++)
		if (k->lock[i] != k->lock[i + 1])
			spin_unlock(&k->lock[i]->locked);
}

// Decrements the counts of the first nb keys.
static void keys_down(const struct keys *k, unsigned int nb)
{
	while (nb-- > 0)
		stripe_down(k->in[nb], k->hash[nb]);
}

static void limits_of(const struct turn_limits *l, uint32_t limit[BY_MOST])
{
	limit[BY_USER] = l->per_user;
	limit[BY_SOURCE] = l->per_source;
	limit[BY_NETWORK] = NETWORK * l->per_source;
}

// --- counting an allocation ---------------------------------------------------------------------

// Increments a sum up to a limit. It does not use fetch-and-add with a correction: that would
// refuse other requests in the meantime.
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

// Counts one more of a realm, and in total. TURN_GRANTED, or the limit that is reached.
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

uint64_t quota_source(const struct addr *source)
{
	const struct addr a = addr_source(source);

	return addr_is_v4(&a) ? a.d[1] : a.d[0];
}

uint64_t quota_user(const struct turn_quota *q, uint8_t realm, const uint8_t ident[TURN_IDENT_LEN])
{
	const struct addr user = addr_from_v6(ident);

	return quota_renumber(hash_addr(&q->key, &user, 1), realm);
}

// Counts one more for each key. TURN_GRANTED, or the limit that is reached.
static enum turn_refusal keys_up(const struct keys *k, const struct turn_limits *l)
{
	uint32_t limit[BY_MOST];

	limits_of(l, limit);
	for (unsigned int i = 0; i < k->nb; i++) {
		if (stripe_up(k->in[i], k->hash[i], limit[i]))
			continue;
		keys_down(k, i);
		return i == BY_USER ? TURN_REFUSED_QUOTA_USER : TURN_REFUSED_QUOTA_SOURCE;
	}
	return TURN_GRANTED;
}

enum turn_refusal quota_take_ref(
	struct turn_quota *q, const struct turn_limits *l, const struct quota_ref *ref)
{
	enum turn_refusal refusal;
	struct keys k;

	keys_of(q, ref, &k);
	keys_lock(&k);
	refusal = keys_up(&k, l);
	if (refusal == TURN_GRANTED) {
		refusal = sums_up(q, l, quota_realm(ref->user));
		if (refusal != TURN_GRANTED)
			keys_down(&k, k.nb);
	}
	keys_unlock(&k);
	return refusal;
}

enum turn_refusal quota_take(struct turn_quota *q, const struct turn_limits *l,
	const uint8_t ident[TURN_IDENT_LEN], const struct addr *source, struct quota_ref *ref)
{
	*ref = (struct quota_ref){quota_user(q, l->realm, ident), quota_source(source)};
	return quota_take_ref(q, l, ref);
}

bool quota_is(const struct turn_quota *q, const uint8_t ident[TURN_IDENT_LEN],
	const struct addr *source, const struct quota_ref *ref)
{
	return quota_user(q, quota_realm(ref->user), ident) == ref->user &&
		quota_source(source) == ref->source;
}

void quota_give(struct turn_quota *q, const struct quota_ref *ref)
{
	const uint8_t realm = quota_realm(ref->user);
	struct keys k;

	keys_of(q, ref, &k);
	keys_lock(&k);
	ASSERT(turn_quota_total(q) > 0);
	ASSERT(realm == 0 || turn_quota_realm(q, realm) > 0);
	keys_down(&k, k.nb);
	atomic_fetch_sub_explicit(&q->total, 1, memory_order_relaxed);
	if (realm != 0) // release: a thread that reads 0 sees everything that was counted
		atomic_fetch_sub_explicit(&q->of_realm[realm], 1, memory_order_release);
	keys_unlock(&k);
}

enum turn_refusal quota_over(
	struct turn_quota *q, const struct turn_limits *l, const struct quota_ref *ref)
{
	uint32_t count[BY_MOST], limit[BY_MOST];
	struct keys k;

	limits_of(l, limit);
	keys_of(q, ref, &k);
	keys_lock(&k);
	for (unsigned int i = 0; i < k.nb; i++)
		count[i] = stripe_count(k.in[i], k.hash[i]);
	keys_unlock(&k);
	for (unsigned int i = 0; i < k.nb; i++)
		if (limit[i] != 0 && count[i] > limit[i])
			return i == BY_USER ? TURN_REFUSED_QUOTA_USER : TURN_REFUSED_QUOTA_SOURCE;
	if (l->of_realm != 0 && turn_quota_realm(q, quota_realm(ref->user)) > l->of_realm)
		return TURN_REFUSED_QUOTA_REALM;
	if (l->allocations != 0 && turn_quota_total(q) > l->allocations)
		return TURN_REFUSED_QUOTA_TOTAL;
	return TURN_GRANTED;
}
