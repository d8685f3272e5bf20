// SPDX-License-Identifier: BSD-3-Clause
// Verifies requests of users who are looked up. An answer that holds decides at once. Else the
// request waits for the answer to a question, and is then routed again with TURN_VIEW_WAITED: it
// never waits twice.
#include "features/lookup/lookup.h"

#include <string.h>

#include "auth/policy.h"
#include "features/lookup/lookup_secrets.h"
#include "features/lookup/lookup_users.h"
#include "requests/request.h"
#include "shard.h"
#include "turn_rest.h"

// A wrong signature asks again if the last answer is this old: the password may have changed.
#define AGAIN_S 5
#define SINCE_2001_S UINT64_C(1000000000)

int lookup_make_realm(uint32_t *out, const struct turn_realm *realm, struct stun_crypto *crypto)
{
	*out = realm->looked_up;
	return 0;
}

// True if a name with this refusal may be that of a user to look up. A small number is one, as an
// extension of a telephone; a number that can be a time is a REST name.
static bool is_asked(const struct turn_request *r, enum turn_refusal refusal)
{
	struct turn_rest_name rest;
	const struct stun_msg *m = &r->m;

	if (refusal == TURN_REFUSED_USER_UNKNOWN || refusal == TURN_REFUSED_REST_NAME)
		return true;
	return (refusal == TURN_REFUSED_REST_EXPIRED || refusal == TURN_REFUSED_REST_PASSWORD) &&
		turn_rest_read(m->data + m->off[STUN_USERNAME], m->alen[STUN_USERNAME], &rest) &&
		rest.expiry_s < SINCE_2001_S;
}

// True if the request is signed with this key. Sets r->cred.
static bool signed_with(struct turn_request *r, const uint8_t *bytes, uint8_t len,
	const uint8_t ident[TURN_IDENT_LEN])
{
	const struct stun_msg *m = &r->m;
	struct turn_cred *c = &r->cred;

	*c = (struct turn_cred){.key = {.len = len},
		.alg = len == STUN_KEY_MD5_LEN ? CRED_KEY : STUN_ALG_SHA256,
		.rfc8489 = stun_has(m, STUN_PASSWORD_ALGORITHMS)};
	memcpy(c->key.bytes, bytes, len);
	memcpy(c->ident, ident, TURN_IDENT_LEN);
	cred_name_set(c, m->data + m->off[STUN_USERNAME], m->alen[STUN_USERNAME]);
	if (len == STUN_KEY_MD5_LEN)
		memcpy(c->mac, bytes, len);
	if (stun_integrity_ok(r->s->crypto, m, &c->key))
		return true;
	explicit_bzero(c, sizeof(*c));
	return false;
}

// True if the request is signed with a key of the user.
static bool signed_by(struct turn_request *r, const struct lookup_user *u, enum stun_algorithm alg)
{
	if (alg == STUN_ALG_SHA256)
		return u->has_sha256 && signed_with(r, u->sha256, sizeof(u->sha256), u->ident);
	return u->has_md5 && signed_with(r, u->md5, sizeof(u->md5), u->ident);
}

// The refusal of a request with a wrong password, or of an unknown user.
static enum turn_refusal refuse_guess(struct turn_request *r, enum turn_refusal refusal)
{
	r->cred.guess = true;
	return refusal;
}

// Judges by an answer.
static enum turn_refusal judge_answer(
	struct turn_request *r, const struct lookup_user *u, enum stun_algorithm alg)
{
	if (u->state != LOOKUP_USER)
		return refuse_guess(r, TURN_REFUSED_USER_UNKNOWN);
	return signed_by(r, u, alg) ? TURN_GRANTED : refuse_guess(r, TURN_REFUSED_PASSWORD);
}

// Asks, unless a question about the user waits already. False if nothing can be asked.
static bool ask_about(struct turn_request *r, struct lookup_user *u)
{
	struct turn_shard *s = r->s;
	struct lookup *l = &s->lookup;
	const struct stun_msg *m = &r->m;
	struct turn_lookup_question q = {.client = {r->v->src, r->v->src_port},
		.transport = s->listener[r->v->listener].transport,
		.name = m->data + m->off[STUN_USERNAME],
		.name_len = m->alen[STUN_USERNAME],
		.realm = r->policy->realm};

	if (u->question != LOOKUP_NO_QUESTION)
		return true;
	return limiter_take(&l->each, &l->limit, &r->v->src, s->now_ms) && lookup_ask(s, u, &q);
}

// Makes the request wait for the answer about its user, or refuses it.
static enum turn_refusal wait_for(struct turn_request *r, struct lookup_user *u)
{
	if (u == NULL || !ask_about(r, u)) {
		r->s->stats.lookups_refused++;
		return TURN_REFUSED_LOOKUP_FULL;
	}
	r->waits = u->question + UINT32_C(1);
	return TURN_REFUSED_LOOKUP;
}

// Without an answer that holds: the allocation's own key, or an older answer, may do.
static enum turn_refusal judge_without(struct turn_request *r, struct lookup_user *u,
	enum stun_algorithm alg, const struct turn_cred *known)
{
	const bool waited = (r->v->flags & TURN_VIEW_WAITED) != 0;

	if (known != NULL && known->alg == CRED_KEY && !known->rest && alg == STUN_ALG_MD5 &&
		signed_with(r, known->mac, STUN_KEY_MD5_LEN, known->ident)) {
		if (!waited && u != NULL)
			ask_about(r, u); // for the next request
		return TURN_GRANTED;
	}
	if (!waited)
		return wait_for(r, u);
	if (u != NULL && u->state == LOOKUP_USER && lookup_now(r->s) < u->stale_until) {
		r->s->stats.lookups_stale++;
		return judge_answer(r, u, alg);
	}
	return TURN_REFUSED_LOOKUP;
}

// Judges a request with USERHASH. A hash cannot be looked up: only a user whose name a request of
// this realm has brought is known. Users of other realms must not pass by a hash made for theirs.
static enum turn_refusal judge_hash(struct turn_request *r, enum stun_algorithm alg)
{
	const uint8_t *hash = r->m.data + r->m.off[STUN_USERHASH];
	const struct lookup_user *u =
		r->m.alen[STUN_USERHASH] == 32 ? lookup_find(r->s, hash) : NULL;

	if (u == NULL || u->state != LOOKUP_USER || lookup_now(r->s) >= u->until ||
		u->realm != lookup_realm(r->s, r->policy->realm))
		return refuse_guess(r, TURN_REFUSED_USER_UNKNOWN);
	return judge_answer(r, u, alg);
}

static enum turn_refusal judge_name(
	struct turn_request *r, enum stun_algorithm alg, const struct turn_cred *known)
{
	const struct stun_msg *m = &r->m;
	const size_t len = m->alen[STUN_USERNAME];
	const bool waited = (r->v->flags & TURN_VIEW_WAITED) != 0;
	uint8_t userhash[32];
	struct lookup_user *u;
	enum turn_refusal refusal;

	if (len == 0 || len > TURN_LOOKUP_NAME_MAX)
		return refuse_guess(r, TURN_REFUSED_USER_UNKNOWN);
	if (!stun_userhash(
		    r->s->crypto, m->data + m->off[STUN_USERNAME], len, r->policy->realm, userhash))
		return TURN_REFUSED_INTERNAL;
	u = waited ? lookup_find(r->s, userhash) : lookup_make(r->s, userhash);
	if (u != NULL)
		u->realm = lookup_realm(r->s, r->policy->realm);
	if (u == NULL || u->state == LOOKUP_ASKED || lookup_now(r->s) >= u->until)
		return judge_without(r, u, alg, known);
	refusal = judge_answer(r, u, alg);
	if (refusal == TURN_GRANTED)
		r->s->stats.lookups_saved += !waited;
	else if (!waited && u->state == LOOKUP_USER && lookup_now(r->s) - u->answered >= AGAIN_S)
		return wait_for(r, u);
	return refusal;
}

enum turn_refusal lookup_verify(
	struct turn_request *r, enum turn_refusal refusal, const struct turn_cred *known)
{
	const char *const *secrets;
	enum stun_algorithm alg;
	uint32_t nb;

	if (!policy_looks_up(r->policy) || r->s->lookup.nb_users == 0)
		return refusal;
	secrets = lookup_secrets_of(r->s, r->policy, &nb);
	if (nb > 0 &&
		(refusal == TURN_REFUSED_USER_UNKNOWN || refusal == TURN_REFUSED_REST_PASSWORD) &&
		stun_has(&r->m, STUN_USERNAME))
		refusal = cred_verify_rest(r->policy, r->s->crypto, &r->m,
			&(struct cred_rest){secrets, nb, r->s->wall_s, known}, &r->cred);
	if (refusal == TURN_GRANTED || !is_asked(r, refusal) ||
		!cred_algorithm(r->policy, &r->m, &alg))
		return refusal;
	r->cred.guess = false;
	return stun_has(&r->m, STUN_USERNAME) ? judge_name(r, alg, known) : judge_hash(r, alg);
}

bool lookup_waits(const struct turn_request *r, struct turn_plan *plan)
{
	if (r->waits == 0)
		return false;
	*plan = (struct turn_plan){.verdict = TURN_WAIT, .flow = r->waits - 1};
	return true;
}
