// SPDX-License-Identifier: BSD-3-Clause
// Verifies who signed a request: RFC 8489 9.2.4 from the password algorithms on, for configured
// users and for REST credentials (draft-uberti-behave-turn-rest-00). Runs on the worker; the work
// is bounded, and no look-up leaves the worker.
#include "auth/cred.h"
#include "auth/policy.h"
#include "turn_rest.h"

static const uint8_t algorithms[8] = {0, STUN_ALG_SHA256, 0, 0, 0, STUN_ALG_MD5, 0, 0};

size_t cred_algorithms(const struct turn_policy *p, const uint8_t **list)
{
	const size_t skip = policy_has_sha256(p) ? 0 : 4;

	*list = algorithms + skip;
	return sizeof(algorithms) - skip;
}

// One verification in progress.
struct check {
	const struct turn_policy *p;
	struct stun_crypto *c;
	const struct stun_msg *m;
	struct cred_rest rest;
	enum stun_algorithm alg;
	const uint8_t *name; // USERNAME
	size_t name_len;
};

static bool value_is(const struct stun_msg *m, enum stun_attr a, const void *value, size_t len)
{
	return m->alen[a] == len && memcmp(m->data + m->off[a], value, len) == 0;
}

// RFC 8489 9.2.4, third point: without both attributes the algorithm is MD5. Otherwise both must be
// present, the list as we sent it and the choice from the list. Our nonces always have the feature
// bit set.
bool cred_algorithm(const struct turn_policy *p, const struct stun_msg *m, enum stun_algorithm *alg)
{
	const uint8_t *list;
	const size_t len = cred_algorithms(p, &list);
	uint32_t chosen;

	*alg = STUN_ALG_MD5;
	if (!stun_has(m, STUN_PASSWORD_ALGORITHM) && !stun_has(m, STUN_PASSWORD_ALGORITHMS))
		return true;
	if (!value_is(m, STUN_PASSWORD_ALGORITHMS, list, len) ||
		!stun_get_u32(m, STUN_PASSWORD_ALGORITHM, &chosen))
		return false;
	// Algorithm number, and parameter length, which is 0 for both algorithms (RFC 8489 18.5.1).
	if (chosen == (uint32_t)STUN_ALG_SHA256 << 16 && policy_has_sha256(p))
		*alg = STUN_ALG_SHA256;
	return chosen == (uint32_t)*alg << 16;
}

static bool signed_with(const struct check *k, const struct stun_key *key)
{
	return stun_integrity_ok(k->c, k->m, key);
}

// Makes the key of the name from the password that mac encodes. True if it signed the request.
static bool rest_signed(const struct check *k, const uint8_t *mac, size_t len, struct stun_key *key)
{
	char password[STUN_REST_PASSWORD_SIZE];
	const struct stun_credential cred = {.user = k->name,
		.user_len = k->name_len,
		.realm = k->p->realm,
		.password = password,
		.password_len = (len + 2) / 3 * 4};
	bool ok;

	stun_rest_text(mac, len, password);
	ok = stun_key_make(k->c, k->alg, &cred, key) && signed_with(k, key);
	explicit_bzero(password, sizeof(password));
	return ok;
}

// Stores the key instead of what it was made from, if it fits.
static void store_key(const struct check *k, struct turn_cred *out)
{
	if (k->alg != STUN_ALG_MD5)
		return;
	out->alg = CRED_KEY;
	memcpy(out->mac, out->key.bytes, out->key.len);
}

// True if what the allocation has stored of the user's credentials gives the key of the request.
static bool known_signed(
	const struct check *k, const struct turn_cred *known, struct turn_cred *out)
{
	if (known->alg == CRED_KEY && k->alg == STUN_ALG_MD5) {
		out->key.len = STUN_KEY_MD5_LEN;
		memcpy(out->key.bytes, known->mac, STUN_KEY_MD5_LEN);
		if (!signed_with(k, &out->key))
			return false;
	} else if (known->alg != k->alg ||
		!rest_signed(k, known->mac, STUN_REST_MAC_LEN, &out->key)) {
		return false;
	}
	out->alg = known->alg;
	memcpy(out->mac, known->mac, sizeof(out->mac));
	return true;
}

// True if the password was made of this secret: with SHA-1 as in the draft, or with SHA-256.
static bool secret_signed(const struct check *k, const char *secret, struct turn_cred *out)
{
	uint8_t mac[32];
	bool ok;

	if (stun_rest_mac(k->c, secret, k->name, k->name_len, out->mac) &&
		rest_signed(k, out->mac, STUN_REST_MAC_LEN, &out->key))
		return true;
	memset(out->mac, 0, sizeof(out->mac));
	ok = stun_hmac_sha256(k->c, secret, strlen(secret), k->name, k->name_len, mac) &&
		rest_signed(k, mac, sizeof(mac), &out->key);
	explicit_bzero(mac, sizeof(mac));
	if (ok)
		store_key(k, out);
	return ok;
}

// True if an expired REST name is still accepted. With the policy "ignore", only an Allocate checks
// the expiry, and a retransmitted Allocate is known by its allocation. Other requests may come from
// another 5-tuple: a Refresh with a ticket, a ConnectionBind.
static bool is_past_ignored(const struct check *k, const struct turn_cred *known)
{
	return k->p->rest_expiry == TURN_REST_IGNORED &&
		(known != NULL || k->m->method != STUN_ALLOCATE);
}

static enum turn_refusal rest_verify(const struct check *k, struct turn_cred *out)
{
	const struct turn_cred *known = k->rest.known;
	uint8_t userhash[32];
	struct turn_rest_name rest;
	bool past;

	// The expiry is checked before anything expensive, and also if the password is known. known
	// comes from an allocation whose user has the same name, as far as a hash of it tells.
	if (k->rest.nb_secrets == 0)
		return TURN_REFUSED_USER_UNKNOWN;
	if (!turn_rest_read(k->name, k->name_len, &rest))
		return turn_rest_looks_like(k->name, k->name_len) ? TURN_REFUSED_REST_NAME
								  : TURN_REFUSED_USER_UNKNOWN;
	past = rest.expiry_s < k->rest.wall_s;
	out->expiry_s = rest.expiry_s;
	out->guess = !past;
	if (past && !is_past_ignored(k, known))
		return TURN_REFUSED_REST_EXPIRED;
	if (!stun_userhash(k->c, k->name, k->name_len, k->p->realm, userhash))
		return TURN_REFUSED_INTERNAL;
	memcpy(out->ident, userhash, TURN_IDENT_LEN);
	out->rest = true;
	if (known != NULL && known->rest && memcmp(known->ident, userhash, TURN_IDENT_LEN) == 0 &&
		known_signed(k, known, out))
		return TURN_GRANTED;
	if (past && k->m->method == STUN_ALLOCATE) // of another user, or another algorithm
		return TURN_REFUSED_REST_EXPIRED;
	out->guess = true;
	for (uint32_t i = 0; i < k->rest.nb_secrets; i++)
		if (secret_signed(k, k->rest.secrets[i], out))
			return TURN_GRANTED;
	return TURN_REFUSED_REST_PASSWORD;
}

static enum turn_refusal user_verify(
	const struct check *k, const struct policy_user *user, struct turn_cred *out)
{
	// A user may lack a key. It is then empty, and nothing verifies with an empty key.
	out->key = k->alg == STUN_ALG_SHA256 ? user->sha256 : user->md5;
	memcpy(out->ident, user->userhash, TURN_IDENT_LEN);
	return signed_with(k, &out->key) ? TURN_GRANTED : TURN_REFUSED_PASSWORD;
}

void cred_name_set(struct turn_cred *c, const void *name, size_t len)
{
	c->name_len = (uint8_t)(len < TURN_NAME_LEN ? len : TURN_NAME_LEN);
	memcpy(c->name, name, c->name_len);
}

static const struct policy_user *user_of(const struct turn_policy *p, const struct stun_msg *m)
{
	if (stun_has(m, STUN_USERNAME))
		return policy_user_by_name(
			p, m->data + m->off[STUN_USERNAME], m->alen[STUN_USERNAME]);
	if (m->alen[STUN_USERHASH] != 32) // RFC 8489 14.4
		return NULL;
	return policy_user_by_hash(p, m->data + m->off[STUN_USERHASH]);
}

// A configured user takes precedence over a REST name of the same spelling.
static enum turn_refusal password_verify(const struct check *k, struct turn_cred *out)
{
	const struct policy_user *user = user_of(k->p, k->m);

	out->alg = (uint8_t)k->alg;
	out->guess = true;
	if (user != NULL) {
		cred_name_set(out, user->name, strlen(user->name));
		return user_verify(k, user, out);
	}
	cred_name_set(out, k->name, k->name_len);
	return stun_has(k->m, STUN_USERNAME) ? rest_verify(k, out) : TURN_REFUSED_USER_UNKNOWN;
}

// Keeps nothing of credentials that were refused, except whether they were a guess.
static enum turn_refusal leave_nothing(enum turn_refusal refusal, struct turn_cred *out)
{
	const bool guess = out->guess;

	if (refusal == TURN_GRANTED)
		return refusal;
	explicit_bzero(out, sizeof(*out));
	out->guess = guess;
	return refusal;
}

enum turn_refusal cred_verify(const struct turn_policy *p, struct stun_crypto *c,
	const struct stun_msg *m, uint64_t wall_s, const struct turn_cred *known,
	struct turn_cred *out)
{
	struct check k = {
		.p = p,
		.c = c,
		.m = m,
		.rest = {(const char *const *)p->secrets, p->nb_secrets, wall_s, known},
		.name = m->data + m->off[STUN_USERNAME],
		.name_len = m->alen[STUN_USERNAME],
	};
	enum turn_refusal refusal;

	memset(out, 0, sizeof(*out));
	if (!cred_algorithm(p, m, &k.alg))
		return TURN_REFUSED_ALGORITHMS;
	if (k.name_len > STUN_TEXT_MAX)
		return TURN_REFUSED_NAME_LONG;
	// The key is made with our realm, so a client with another realm cannot have signed with
	// it.
	if (!value_is(m, STUN_REALM, p->realm, strlen(p->realm)))
		return TURN_REFUSED_REALM;
	out->rfc8489 = stun_has(m, STUN_PASSWORD_ALGORITHMS);
#define X(takes, verify)                                \
	if (takes(p, m))                                \
		refusal = verify(p, c, m, wall_s, out); \
	else
	TURN_SIGNATURES(X)
#undef X
#define X(read, is_same, verify)                    \
	if (known != NULL && cred_is_token(known))  \
		refusal = verify(c, m, known, out); \
	else
	TURN_STORED(X)
#undef X
	refusal = password_verify(&k, out);
	return leave_nothing(refusal, out);
}

enum turn_refusal cred_verify_rest(const struct turn_policy *p, struct stun_crypto *c,
	const struct stun_msg *m, const struct cred_rest *rest, struct turn_cred *out)
{
	struct check k = {.p = p,
		.c = c,
		.m = m,
		.rest = *rest,
		.name = m->data + m->off[STUN_USERNAME],
		.name_len = m->alen[STUN_USERNAME]};

	memset(out, 0, sizeof(*out));
	if (!cred_algorithm(p, m, &k.alg))
		return TURN_REFUSED_ALGORITHMS;
	out->rfc8489 = stun_has(m, STUN_PASSWORD_ALGORITHMS);
	out->alg = (uint8_t)k.alg;
	cred_name_set(out, k.name, k.name_len);
	return leave_nothing(rest_verify(&k, out), out);
}

bool cred_quota_ident(const struct turn_policy *p, struct stun_crypto *c, const struct stun_msg *m,
	const struct turn_cred *cred, uint8_t out[TURN_IDENT_LEN])
{
	struct turn_rest_name rest = {0};
	uint8_t userhash[32];

	if (cred_is_token(cred)) {
		if (!stun_userhash(c, cred->key.bytes, STUN_KEY_MAX, p->realm, userhash))
			return false;
		memcpy(out, userhash, TURN_IDENT_LEN);
		return true;
	}
	memcpy(out, cred->ident, TURN_IDENT_LEN);
	if (!cred->rest ||
		!turn_rest_read(m->data + m->off[STUN_USERNAME], m->alen[STUN_USERNAME], &rest) ||
		rest.id_len == 0)
		return true;
	if (!stun_userhash(c, rest.id, rest.id_len, p->realm, userhash))
		return false;
	memcpy(out, userhash, TURN_IDENT_LEN);
	return true;
}
