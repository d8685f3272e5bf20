// SPDX-License-Identifier: BSD-3-Clause
// Budgets for answers to strangers and for password guesses (doc/decisions/0006).

#include "limits/stranger.h"
#include "invariant.h"
#include "requests/request.h"
#include "shard.h"

// 438s per second of the clock for the client of an allocation. Several records that must be
// refreshed at once may all use the stale nonce.
#define STALE_ANSWERS 15
// Multiples of a source's limits.guesses for its network, and for a name from all sources. At least
// five networks are needed to use up a name.
#define GUESSES_NETWORK 20
#define GUESSES_NAME 100
// A source that has nothing left still gets 1/n of limits.guesses for each name.
#define GUESSES_PAIR 10
// Multiple of a source's answers for its /48. Addresses may be spoofed here, and a /48 may be
// 65,536 households: it takes more packets to silence a /48 by spoofing than to silence a source.
#define STRANGERS_NETWORK 100

#define BUCKETS 8192u // of sources; also the number of pairs that have signed correctly
#define NETWORKS 4096u

static const struct {
	uint32_t networks; // number of separate buckets; 0 = networks are not counted
	uint32_t times; // multiple of a source's limit for a network
	bool one_worker; // each key is counted on one worker only
} limiters[TURN_LIMIT_END] = {
	[TURN_LIMIT_STRANGERS] = {NETWORKS, STRANGERS_NETWORK},
	[TURN_LIMIT_BINDING] = {NETWORKS, STRANGERS_NETWORK},
	[TURN_LIMIT_GUESSES] = {NETWORKS, GUESSES_NETWORK},
	[TURN_LIMIT_STALE] = {.one_worker = true},
	[TURN_LIMIT_ICMP] = {.one_worker = true},
	[TURN_LIMIT_PEERS] = {.one_worker = true},
};

size_t stranger_size(void)
{
	size_t size = BUCKETS * sizeof(uint32_t);

	for (unsigned int i = 0; i < TURN_LIMIT_END; i++)
		size += limiter_size(BUCKETS, limiters[i].networks);
	return size;
}

void stranger_init(struct turn_shard *s, void *mem)
{
	uint8_t *pos = mem;

	for (unsigned int i = 0; i < TURN_LIMIT_END; i++) {
		struct limiter *l = &s->limiter[i];

		l->key = s->key;
		limiter_init(l, pos, BUCKETS, limiters[i].networks);
		l->times = limiters[i].times;
		l->parts = limiters[i].one_worker ? 1 : s->workers;
		pos += limiter_size(BUCKETS, limiters[i].networks);
	}
	s->proven_pairs = (uint32_t *)pos;
}

// True if one more 438 may be sent. For an allocation its own record counts: a bucket may be shared
// with a sender that has many 5-tuples and a stale nonce for each.
static bool stale_answers(struct turn_request *r)
{
	struct turn_shard *s = r->s;
	const uint8_t second = (uint8_t)(s->now_ms / 1000);
	struct turn_cold *c;

	if (r->slot == TURN_NONE)
		return bucket_take(limiter_bucket(&s->limiter[TURN_LIMIT_STALE], r->v->hash),
			&s->policy->limits.stale_nonce, s->now_ms * BUCKET_MS);
	c = cold_at(s, r->slot);
	if (c->stale_s != second)
		c->stale_answers = 0;
	c->stale_s = second;
	if (c->stale_answers == STALE_ANSWERS)
		return false;
	ASSERT(c->stale_answers < STALE_ANSWERS);
	c->stale_answers++;
	return true;
}

bool stranger_answers(struct turn_request *r)
{
	struct turn_shard *s = r->s;

	if (r->proof == PROOF_ADDRESS || (r->proof == PROOF_STALE && stale_answers(r)))
		return true;
	return limiter_take(&s->limiter[TURN_LIMIT_STRANGERS], &s->policy->limits.unauthenticated,
		&r->v->src, s->now_ms);
}

// True if a request names the user of its allocation.
static bool is_owner(const struct turn_request *r)
{
	const struct stun_msg *m = &r->m;
	uint8_t userhash[32];

	if (r->slot == TURN_NONE)
		return false;
	if (stun_has(m, STUN_USERNAME)) {
		if (!stun_userhash(r->s->crypto, m->data + m->off[STUN_USERNAME],
			    m->alen[STUN_USERNAME], r->policy->realm, userhash))
			return false;
	} else {
		if (m->alen[STUN_USERHASH] != sizeof(userhash))
			return false;
		memcpy(userhash, m->data + m->off[STUN_USERHASH], sizeof(userhash));
	}
	return cold_at(r->s, r->slot)->ident_hash == alloc_who(r->s, userhash);
}

struct guess stranger_guess(const struct turn_request *r)
{
	const struct turn_shard *s = r->s;
	const struct limiter *l = &s->limiter[TURN_LIMIT_GUESSES];
	const struct stun_msg *m = &r->m;
	const enum stun_attr a = stun_has(m, STUN_USERNAME) ? STUN_USERNAME : STUN_USERHASH;
	const size_t len = m->alen[a] < STUN_TEXT_MAX ? m->alen[a] : STUN_TEXT_MAX;
	const struct addr name = {
		.d = {hash_bytes(&s->key, m->data + m->off[a], len), r->policy->number}};
	const uint64_t by_name = hash_addr(&s->key, &name, 2);
	struct addr both = addr_source(&r->v->src);
	struct guess g;

	both.d[0] ^= by_name;
	g.pair = hash_addr(&s->key, &both, 3);
	g.bucket[GUESS_SOURCE] = limiter_source(l, &r->v->src);
	g.bucket[GUESS_NETWORK] = limiter_network(l, &r->v->src);
	g.bucket[GUESS_NAME] = limiter_bucket(&s->limiter[TURN_LIMIT_GUESSES_NAME], by_name);
	g.bucket[GUESS_PAIR] = limiter_bucket(&s->limiter[TURN_LIMIT_GUESSES_PAIR], g.pair);
	return g;
}

// The part of limits.guesses of each kind on this worker.
static struct limit limit_of(const struct turn_shard *s, enum guess_by kind)
{
	static const uint32_t times[GUESS_END] = {
		[GUESS_SOURCE] = 1, [GUESS_NETWORK] = GUESSES_NETWORK, [GUESS_NAME] = GUESSES_NAME};
	const struct limit *each = &s->policy->limits.guesses;
	const struct limit many = limit_times(each, times[kind]);

	return kind == GUESS_PAIR ? limit_part(each, GUESSES_PAIR * s->workers)
				  : limit_part(&many, s->workers);
}

static bool has_budget(const struct turn_shard *s, const struct guess *g, enum guess_by kind)
{
	const uint64_t now_ns = s->now_ms * BUCKET_MS;
	struct limit l;

	if (bucket_owes_nothing(g->bucket[kind], now_ns))
		return true;
	l = limit_of(s, kind);
	return bucket_see(g->bucket[kind], &l, now_ns) > 0;
}

// The low half of a hash selects the entry, which stores the high half.
static uint32_t *proven_pair(const struct turn_shard *s, uint64_t pair)
{
	return &s->proven_pairs[pair % BUCKETS];
}

static bool within_limits(const struct turn_shard *s, const struct guess *g)
{
	return has_budget(s, g, GUESS_NETWORK) &&
		(has_budget(s, g, GUESS_SOURCE) || has_budget(s, g, GUESS_PAIR)) &&
		(has_budget(s, g, GUESS_NAME) || *proven_pair(s, g->pair) == g->pair >> 32);
}

bool stranger_may_guess(struct turn_request *r, const struct guess *g)
{
	return within_limits(r->s, g) || is_owner(r);
}

void stranger_guessed(struct turn_request *r, const struct guess *g)
{
	if (is_owner(r))
		return;
	for (unsigned int i = 0; i < GUESS_END; i++) {
		const struct limit l = limit_of(r->s, i);

		bucket_take(g->bucket[i], &l, r->s->now_ms * BUCKET_MS);
	}
}

void stranger_passed(struct turn_request *r, const struct guess *g)
{
	*proven_pair(r->s, g->pair) = (uint32_t)(g->pair >> 32);
}
