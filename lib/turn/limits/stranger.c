// SPDX-License-Identifier: BSD-3-Clause
// Budgets for answers to strangers and for guesses at passwords (doc/decisions/0006).

#include "limits/stranger.h"
#include "requests/request.h"
#include "shard.h"

// How many 438s the client of an allocation may get in a second of the clock. Several records that
// have to be refreshed at once may all have the stale nonce.
#define STALE_ANSWERS 15
// How many times what limits.guesses gives a source its network has, and a name from all sources.
// Five networks at least are needed to use up a name.
#define GUESSES_NETWORK 20
#define GUESSES_NAME 100
// What of it a name has at a source that has nothing left.
#define GUESSES_PAIR 10
// How many times the answers of a source the /48 has. Addresses may be spoofed here, and a /48 may
// be 65,536 households: who spoofs it has to send more than to silence a source.
#define STRANGERS_NETWORK 100

// Whether one more 438 may go out. For an allocation its own record counts: a bucket may be shared
// with somebody who has many 5-tuples and a stale nonce for each.
static bool stale_answers(struct turn_request *r)
{
	struct turn_shard *s = r->s;
	const uint8_t second = (uint8_t)(s->now_ms / 1000);
	struct turn_cold *c;

	if (r->slot == TURN_NONE)
		return limiter_allow(s->limiter[TURN_LIMIT_STALE], &s->policy->limits.stale_nonce,
			1, r->v->hash, s->now_ms);
	c = cold_at(s, r->slot);
	if (c->stale_s != second)
		c->stale_answers = 0;
	c->stale_s = second;
	if (c->stale_answers == STALE_ANSWERS)
		return false;
	c->stale_answers++;
	return true;
}

static struct turn_rate times(const struct turn_rate *r, uint32_t n)
{
	return (struct turn_rate){.rate = r->rate * n, .burst = r->burst * n};
}

bool stranger_within(struct turn_shard *s, enum turn_limiter limiter, const struct turn_rate *r,
	const struct addr *source)
{
	const struct turn_rate many = times(r, STRANGERS_NETWORK);
	struct limiter *const of_network = s->limiter[limiter + 1];
	const uint64_t network = limiter_network(of_network, source);

	if (!addr_is_v4(source) && !limiter_has(of_network, &many, s->workers, network, s->now_ms))
		return false;
	if (!limiter_allow(s->limiter[limiter], r, s->workers,
		    limiter_source(s->limiter[limiter], source), s->now_ms))
		return false;
	if (!addr_is_v4(source))
		limiter_allow(of_network, &many, s->workers, network, s->now_ms);
	return true;
}

bool stranger_answers(struct turn_request *r)
{
	struct turn_shard *s = r->s;

	if (r->proof == PROOF_ADDRESS || (r->proof == PROOF_STALE && stale_answers(r)))
		return true;
	return stranger_within(
		s, TURN_LIMIT_STRANGERS, &s->policy->limits.unauthenticated, &r->v->src);
}

// Whether a request names the user that its allocation belongs to.
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
	return cold_at(r->s, r->slot)->who == alloc_who(r->s, userhash);
}

struct guess stranger_guess(const struct turn_request *r)
{
	const struct turn_shard *s = r->s;
	const struct turn_rate *each = &s->policy->limits.guesses;
	const struct stun_msg *m = &r->m;
	const enum stun_attr a = stun_has(m, STUN_USERNAME) ? STUN_USERNAME : STUN_USERHASH;
	const size_t len = m->alen[a] < STUN_TEXT_MAX ? m->alen[a] : STUN_TEXT_MAX;
	const struct addr name = {
		.d = {hash_bytes(&s->key, m->data + m->off[a], len), r->policy->number}};
	struct guess g = {.by_source = *each,
		.by_network = times(each, GUESSES_NETWORK),
		.by_name = times(each, GUESSES_NAME),
		.by_pair = {each->rate / GUESSES_PAIR, each->burst / GUESSES_PAIR}};

	g.by_pair.rate += each->rate > 0 && g.by_pair.rate == 0; // 0 would be no limit
	g.source = limiter_source(s->limiter[TURN_LIMIT_GUESSES], &r->v->src);
	g.network = addr_is_v4(&r->v->src)
		? g.source
		: limiter_network(s->limiter[TURN_LIMIT_GUESSES], &r->v->src);
	g.name = hash_addr(&s->key, &name, 2);
	g.pair = hash_addr(&s->key, &(struct addr){.d = {g.name, g.source}}, 3);
	return g;
}

static bool has(struct turn_shard *s, enum turn_limiter l, const struct turn_rate *r, uint64_t who)
{
	return limiter_has(s->limiter[l], r, s->workers, who, s->now_ms);
}

static void count(
	struct turn_shard *s, enum turn_limiter l, const struct turn_rate *r, uint64_t who)
{
	limiter_allow(s->limiter[l], r, s->workers, who, s->now_ms);
}

static uint64_t *good_of(const struct turn_shard *s, uint64_t pair)
{
	return &s->good[pair % TURN_LIMITER_BUCKETS];
}

static bool within(struct turn_shard *s, const struct guess *g)
{
	return has(s, TURN_LIMIT_GUESSES_NETWORK, &g->by_network, g->network) &&
		(has(s, TURN_LIMIT_GUESSES, &g->by_source, g->source) ||
			has(s, TURN_LIMIT_GUESSES_PAIR, &g->by_pair, g->pair)) &&
		(has(s, TURN_LIMIT_GUESSES_NAME, &g->by_name, g->name) ||
			*good_of(s, g->pair) == g->pair);
}

bool stranger_may_guess(struct turn_request *r, const struct guess *g)
{
	return within(r->s, g) || is_owner(r);
}

void stranger_guessed(struct turn_request *r, const struct guess *g)
{
	if (is_owner(r))
		return;
	count(r->s, TURN_LIMIT_GUESSES, &g->by_source, g->source);
	count(r->s, TURN_LIMIT_GUESSES_NETWORK, &g->by_network, g->network);
	count(r->s, TURN_LIMIT_GUESSES_NAME, &g->by_name, g->name);
	count(r->s, TURN_LIMIT_GUESSES_PAIR, &g->by_pair, g->pair);
}

void stranger_passed(struct turn_request *r, const struct guess *g)
{
	*good_of(r->s, g->pair) = g->pair;
}
