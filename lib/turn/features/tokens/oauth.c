// SPDX-License-Identifier: BSD-3-Clause
// Access tokens: RFC 7635 on the worker, without state before the signature is verified.
#include "features/tokens/oauth.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "auth/policy.h"
#include "secret.h"

#define COTURN_MAC_LEN 16

// --- keys ----------------------------------------------------------------------------------------

static int make_key(struct oauth_key *k, const struct turn_oauth_key *src, const char *realm,
	struct stun_crypto *crypto)
{
	uint8_t userhash[32];

	k->kid = strdup(src->kid);
	if (k->kid == NULL)
		return ENOMEM;
	if (!stun_userhash(crypto, k->kid, strlen(k->kid), realm, userhash))
		return EIO;
	memcpy(k->ident, userhash, sizeof(k->ident));
	k->key.alg = src->algorithm;
	return stun_token_key_read(src->secret, &k->key) == (int)stun_token_key_len(k->key.alg)
		? 0
		: EINVAL;
}

static const struct oauth_key *key_of(const struct oauth *o, const void *kid, size_t len)
{
	for (uint32_t i = 0; i < o->nb_keys; i++)
		if (strlen(o->keys[i].kid) == len && memcmp(o->keys[i].kid, kid, len) == 0)
			return &o->keys[i];
	return NULL;
}

int oauth_make(struct oauth **out, const struct turn_oauth *src, const char *realm,
	struct stun_crypto *crypto)
{
	const char *name = src->server_name != NULL ? src->server_name : realm;
	struct oauth *o;
	int err = 0;

	*out = NULL;
	if (src->nb_keys == 0)
		return 0;
	*out = o = calloc(1, sizeof(*o));
	if (o == NULL)
		return ENOMEM;
	o->name = strdup(name);
	o->keys = secret_alloc(src->nb_keys * sizeof(*o->keys));
	if (o->name == NULL || o->keys == NULL)
		return ENOMEM;
	for (uint32_t i = 0; i < src->nb_keys && err == 0; i++) {
		if (key_of(o, src->keys[i].kid, strlen(src->keys[i].kid)) != NULL)
			return EEXIST;
		err = make_key(&o->keys[o->nb_keys++], &src->keys[i], realm, crypto);
	}
	return err;
}

void oauth_free(struct oauth *o)
{
	if (o == NULL)
		return;
	for (uint32_t i = 0; i < o->nb_keys; i++)
		free(o->keys[i].kid);
	secret_free(o->keys);
	free(o->name);
	free(o);
}

// --- requests ------------------------------------------------------------------------------------

// RFC 7635: a token is valid from its time stamp on, for its lifetime, with the tolerated clock
// difference at both ends. Fractions of a second are dropped.
static enum turn_refusal time_of(const struct stun_token *t, uint64_t wall_s, struct turn_cred *out)
{
	const uint64_t end_s = t->made_s + t->lifetime_s;

	if (t->made_s > wall_s + OAUTH_DELTA_S)
		return TURN_REFUSED_ACCESS_FUTURE;
	if (wall_s >= end_s + OAUTH_DELTA_S)
		return TURN_REFUSED_ACCESS_EXPIRED;
	out->expiry_s = end_s > wall_s ? end_s : wall_s;
	return TURN_GRANTED;
}

static enum turn_refusal open_token(const struct oauth *o, const struct oauth_key *k,
	struct stun_crypto *c, const struct stun_msg *m, struct stun_token *t)
{
	const struct stun_token_sealed sealed = {.data = m->data + m->off[STUN_ACCESS_TOKEN],
		.len = m->alen[STUN_ACCESS_TOKEN],
		.key = &k->key,
		.name = o->name};

	switch (stun_token_open(c, &sealed, t)) {
	case STUN_TOKEN_GOOD:
		return TURN_GRANTED;
	case STUN_TOKEN_MALFORMED:
		return TURN_REFUSED_ACCESS_MALFORMED;
	case STUN_TOKEN_FORGED:
		return TURN_REFUSED_ACCESS_FORGED;
	default:
		return TURN_REFUSED_INTERNAL;
	}
}

// True if a request is signed with a MAC key; *key is then the key that signs the answer. coturn's
// server and client use 16 bytes of a 20-byte key for HMAC-SHA1, and so do servers compatible with
// them.
static bool is_signed(struct stun_crypto *c, const struct stun_msg *m, const struct stun_key *mac,
	struct stun_key *key)
{
	*key = *mac;
	if (stun_integrity_ok(c, m, key))
		return true;
	key->len = COTURN_MAC_LEN;
	return mac->len == STUN_REST_MAC_LEN && !stun_has(m, STUN_MESSAGE_INTEGRITY_SHA256) &&
		stun_integrity_ok(c, m, key);
}

_Static_assert(STUN_REST_MAC_LEN + TURN_NAME_LEN - OAUTH_NAME_SHORT == STUN_KEY_MAX, "a key fits");

// Turns *c, whose name is set, into the credentials of a token with this MAC key: a key of 32 bytes
// shortens the name.
static void set_key(struct turn_cred *c, const struct stun_key *mac)
{
	c->alg = CRED_TOKEN;
	c->key = *mac;
	memcpy(c->mac, mac->bytes, sizeof(c->mac));
	if (mac->len <= sizeof(c->mac) && c->name_len > OAUTH_NAME_SHORT)
		return;
	if (c->name_len > OAUTH_NAME_SHORT)
		c->name_len = OAUTH_NAME_SHORT;
	memcpy(c->name + OAUTH_NAME_SHORT, mac->bytes + sizeof(c->mac),
		TURN_NAME_LEN - OAUTH_NAME_SHORT);
}

enum turn_refusal oauth_verify(const struct turn_policy *p, struct stun_crypto *c,
	const struct stun_msg *m, uint64_t wall_s, struct turn_cred *out)
{
	const size_t len = stun_has(m, STUN_USERNAME) ? m->alen[STUN_USERNAME] : 0;
	const struct oauth_key *k = key_of(p->oauth, m->data + m->off[STUN_USERNAME], len);
	struct stun_token t;
	struct stun_key key = {.len = 0};
	enum turn_refusal refusal;

	out->guess = true;
	if (k == NULL)
		return TURN_REFUSED_ACCESS_KEY;
	refusal = open_token(p->oauth, k, c, m, &t);
	if (refusal == TURN_GRANTED && !is_signed(c, m, &t.mac, &key))
		refusal = TURN_REFUSED_ACCESS_SIGNATURE;
	if (refusal == TURN_GRANTED) {
		refusal = time_of(&t, wall_s, out);
		out->guess = false;
	}
	if (refusal == TURN_GRANTED) {
		cred_name_set(out, k->kid, len);
		set_key(out, &t.mac);
		out->key = key;
		memcpy(out->ident, k->ident, sizeof(out->ident));
	}
	explicit_bzero(&t, sizeof(t));
	explicit_bzero(&key, sizeof(key));
	return refusal;
}

// RFC 7635: a Refresh carries a token. Only one that ends the allocation needs no token.
static bool extends_allocation(const struct stun_msg *m)
{
	uint32_t lifetime_s;

	return m->method == STUN_REFRESH &&
		(!stun_get_u32(m, STUN_LIFETIME, &lifetime_s) || lifetime_s != 0);
}

enum turn_refusal oauth_verify_known(struct stun_crypto *c, const struct stun_msg *m,
	const struct turn_cred *known, struct turn_cred *out)
{
	struct stun_key key;

	out->guess = !is_signed(c, m, &known->key, &key);
	if (out->guess)
		return TURN_REFUSED_ACCESS_SIGNATURE;
	if (extends_allocation(m))
		return TURN_REFUSED_ACCESS_MISSING;
	cred_name_set(out, m->data + m->off[STUN_USERNAME], m->alen[STUN_USERNAME]);
	set_key(out, &known->key);
	out->key = key;
	memcpy(out->ident, known->ident, sizeof(out->ident));
	return TURN_GRANTED;
}
