// SPDX-License-Identifier: BSD-3-Clause
// Joins access tokens to the rest of lib/turn: what an allocation stores of them, and the
// attributes of requests and challenges.
#include "features/tokens/tokens.h"

#include <string.h>

#include "auth/policy.h"
#include "features/tokens/oauth.h"
#include "requests/request.h"
#include "shard.h"
#include "state/writer.h"

// --- keys ----------------------------------------------------------------------------------------

int tokens_make(struct oauth **out, const struct turn_realm *realm, struct stun_crypto *crypto)
{
	return oauth_make(out, &realm->oauth, realm->name, crypto);
}

void tokens_free(struct oauth **o)
{
	oauth_free(*o);
}

uint32_t tokens_nb_keys(const struct turn_policy *p)
{
	return p->oauth != NULL ? p->oauth->nb_keys : 0;
}

const uint8_t *tokens_ident(const struct turn_policy *p, uint32_t i)
{
	return p->oauth->keys[i].ident;
}

// --- credentials ---------------------------------------------------------------------------------

bool tokens_accepted(const struct turn_policy *p)
{
	return p->oauth != NULL;
}

// The key of an access token from the mac and the name that an allocation stores. For HMAC, a key
// of 32 bytes that ends in 12 zeros equals its first 20 bytes (RFC 2104).
static struct stun_key key_of(
	const uint8_t mac[STUN_REST_MAC_LEN], const char name[TURN_NAME_LEN], uint8_t name_len)
{
	struct stun_key key = {.len = STUN_REST_MAC_LEN};

	memcpy(key.bytes, mac, STUN_REST_MAC_LEN);
	if (name_len > OAUTH_NAME_SHORT)
		return key;
	memcpy(key.bytes + STUN_REST_MAC_LEN, name + OAUTH_NAME_SHORT,
		TURN_NAME_LEN - OAUTH_NAME_SHORT);
	for (size_t i = STUN_REST_MAC_LEN; i < STUN_KEY_MAX; i++)
		if (key.bytes[i] != 0)
			key.len = STUN_KEY_MAX;
	return key;
}

void tokens_read(const struct turn_cold *c, struct turn_cred *out)
{
	if (c->alg == CRED_TOKEN)
		out->key = key_of(c->mac, c->name, c->name_len);
}

bool tokens_same(const struct turn_cold *c, const struct turn_cred *cred)
{
	struct stun_key mine, its;

	if (!cred_is_token(cred))
		return true;
	mine = key_of(c->mac, c->name, c->name_len);
	its = key_of(cred->mac, cred->name, cred->name_len);
	return stun_equal(mine.bytes, its.bytes, STUN_KEY_MAX);
}

// --- requests ------------------------------------------------------------------------------------

void tokens_put(struct turn_request *r)
{
	const struct oauth *o = r->policy->oauth;

	if (o != NULL)
		stun_put(&r->w, STUN_THIRD_PARTY_AUTHORIZATION, o->name, strlen(o->name));
}

static void rekey_one(struct turn_shard *s, uint32_t slot, const struct turn_cred *cred)
{
	struct turn_cold *c = cold_at(s, slot);

	c->name_len = cred->name_len & ((1 << 5) - 1);
	memcpy(c->mac, cred->mac, sizeof(c->mac));
	memcpy(c->name, cred->name, sizeof(c->name));
	if (!c->is_second)
		c->ident_hash = alloc_who(s, cred->ident);
	state_rekeyed(s, slot, cred);
}

void tokens_refreshed(struct turn_request *r)
{
	const uint32_t sibling = alloc_sibling(r->s, r->slot);

	if (!cred_is_token(&r->cred))
		return;
	rekey_one(r->s, r->slot, &r->cred);
	if (sibling != TURN_NONE)
		rekey_one(r->s, sibling, &r->cred);
}
