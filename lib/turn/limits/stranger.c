// SPDX-License-Identifier: BSD-3-Clause
// Budgets for answers to strangers and for guesses at passwords (doc/decisions/0006).

#include "limits/stranger.h"
#include "requests/request.h"
#include "shard.h"

// How many 438s the client of an allocation may get in a second of the clock. Several records that
// have to be refreshed at once may all have the stale nonce.
#define STALE_ANSWERS 15

// Whether one more 438 may go out. For an allocation its own record counts: a bucket may be shared
// with somebody who has many 5-tuples and a stale nonce for each.
static bool stale_answers(struct turn_request *r)
{
	struct turn_shard *s = r->s;
	const uint8_t second = (uint8_t)(s->now_ms / 1000);
	struct turn_cold *c;

	if (r->slot == TURN_NONE)
		return limiter_allow(
			s->stale, &s->policy->limits.stale_nonce, 1, r->v->hash, s->now_ms);
	c = cold_at(s, r->slot);
	if (c->stale_s != second)
		c->stale_answers = 0;
	c->stale_s = second;
	if (c->stale_answers == STALE_ANSWERS)
		return false;
	c->stale_answers++;
	return true;
}

bool stranger_answers(struct turn_request *r)
{
	struct turn_shard *s = r->s;

	if (r->proof == PROOF_ADDRESS || (r->proof == PROOF_STALE && stale_answers(r)))
		return true;
	return limiter_allow(s->unauthenticated, &s->policy->limits.unauthenticated, s->workers,
		limiter_source(s->unauthenticated, &r->v->src), s->now_ms);
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

bool stranger_may_guess(struct turn_request *r)
{
	struct turn_shard *s = r->s;

	return limiter_has(s->guesses, &s->policy->limits.guesses, s->workers,
		       limiter_source(s->guesses, &r->v->src), s->now_ms) ||
		is_owner(r);
}

void stranger_guessed(struct turn_request *r)
{
	struct turn_shard *s = r->s;

	if (!is_owner(r))
		limiter_allow(s->guesses, &s->policy->limits.guesses, s->workers,
			limiter_source(s->guesses, &r->v->src), s->now_ms);
}
