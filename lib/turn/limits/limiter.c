// SPDX-License-Identifier: BSD-3-Clause
// Token buckets kept as debts: a bucket that nobody has used owes nothing and is full, which is
// what zeroed memory says. A limit changed by a reload applies at once. There is no tag: a source
// whose hash falls on another's bucket shares it. A tag would have to be evicted, and then spoofed
// sources could refill any bucket by pushing its owner out.
#include "limits/limiter.h"

// Debts are counted in thousandths of a token, so that rate * milliseconds is exact.
#define TOKEN 1000u

struct bucket {
	uint64_t last_ms; // when owed was brought up to date
	uint32_t owed;
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct bucket) == 12, "there are many");

#define OWED_MAX (UINT32_MAX - TOKEN) // the debt of a burst of four million

struct limiter {
	struct hash_key key;
	uint32_t mask; // number of buckets - 1
	uint32_t pad[3];
	struct bucket bucket[];
};

size_t limiter_size(uint32_t buckets)
{
	return sizeof(struct limiter) + buckets * sizeof(struct bucket);
}

struct limiter *limiter_create(void *mem, uint32_t buckets, const struct hash_key *key)
{
	struct limiter *l = mem;

	memset(l, 0, limiter_size(buckets));
	l->key = *key;
	l->mask = buckets - 1;
	return l;
}

uint64_t limiter_source(const struct limiter *l, const struct addr *source)
{
	const struct addr a = addr_source(source);

	return hash_addr(&l->key, &a, 0);
}

uint64_t limiter_network(const struct limiter *l, const struct addr *source)
{
	const struct addr a = addr_network(source);

	return hash_addr(&l->key, &a, 1);
}

static struct bucket *bucket_of(struct limiter *l, uint64_t who)
{
	return &l->bucket[who & l->mask];
}

// One worker's part of a limit, at least 1.
static uint64_t part(uint32_t whole, uint32_t share)
{
	const uint32_t n = share > 1 ? whole / share : whole;

	return n > 0 ? n : 1;
}

static void pay_back(struct bucket *b, uint64_t rate, uint64_t now_ms)
{
	uint64_t elapsed_ms, paid;

	if (now_ms <= b->last_ms)
		return;
	elapsed_ms = now_ms - b->last_ms;
	// 49 days: multiplied by a 32-bit rate, that still fits 64 bits
	if (elapsed_ms > UINT32_MAX)
		elapsed_ms = UINT32_MAX;
	paid = elapsed_ms * rate;
	b->owed = paid < b->owed ? b->owed - (uint32_t)paid : 0;
	b->last_ms = now_ms;
}

bool limiter_has(
	struct limiter *l, const struct turn_rate *r, uint32_t share, uint64_t who, uint64_t now_ms)
{
	uint64_t most;
	struct bucket *b;

	if (r->rate == 0)
		return true;
	b = bucket_of(l, who);
	pay_back(b, part(r->rate, share), now_ms);
	most = part(r->burst, share) * TOKEN;
	return b->owed + TOKEN <= (most < OWED_MAX ? most : OWED_MAX);
}

bool limiter_allow(
	struct limiter *l, const struct turn_rate *r, uint32_t share, uint64_t who, uint64_t now_ms)
{
	if (!limiter_has(l, r, share, who, now_ms))
		return false;
	if (r->rate != 0)
		bucket_of(l, who)->owed += TOKEN;
	return true;
}
