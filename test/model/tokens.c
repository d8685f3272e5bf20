// SPDX-License-Identifier: BSD-3-Clause
// Users with access tokens (RFC 7635): two of one key, and one of another. Each has one token as
// long as the world lives.
#include "feature_names.h"
#include "model.h"
#include "token_seal.h"

#include <stdio.h>

#define NAME "model.test"

#ifdef FEATURE_TOKENS
static const char *const kids[] = {"north", "north", "south"};
static const uint8_t keys[2][32] = {{1, 2, 3}, {4, 5, 6}};

// north is the last, so that a reload can leave it out.
void model_tokens_init(struct model_world *w)
{
	static struct turn_oauth_key oauth_keys[2];

	oauth_keys[0] = (struct turn_oauth_key){.kid = (char *)"south",
		.secret = (char *)"040506"
				  "0000000000000000000000000000000000000000000000000000000000"};
	oauth_keys[1] = (struct turn_oauth_key){.kid = (char *)"north",
		.secret = (char *)"010203"
				  "0000000000000000000000000000000000000000000000000000000000"};
	w->config.first.oauth = (struct turn_oauth){(char *)NAME, oauth_keys, 2};
	for (unsigned int i = MODEL_TOKENS; i < MODEL_USERS; i++) {
		struct model_user *u = &w->user[i];

		*u = (struct model_user){.known = true, .token = true, .realm = FIXTURE_REALM};
		snprintf(u->name, sizeof(u->name), "%s", kids[i - MODEL_TOKENS]);
		u->mac = (struct stun_key){.bytes = {7, (uint8_t)i}, .len = i % 2 == 0 ? 20 : 32};
		u->token_end_s = FIXTURE_WALL_S + (i == MODEL_TOKENS ? 5400 : 100000000);
	}
}

void model_tokens_put(const struct model_world *w, struct stun_writer *writer, const struct op *op)
{
	const struct model_user *u = &w->user[op->user < MODEL_TOKENS ? MODEL_TOKENS : op->user];
	uint8_t data[TOKEN_SEAL_MAX];
	struct token_seal t = {.key = keys[strcmp(u->name, "south") != 0 ? 0 : 1],
		.key_len = 32,
		.name = op->access == ACCESS_NAME ? "other.test" : NAME,
		.mac = u->mac.bytes,
		.mac_len = u->mac.len,
		.made_s = FIXTURE_WALL_S,
		.lifetime_s = (uint32_t)(u->token_end_s - FIXTURE_WALL_S),
		.seed = op->tid};
	size_t len;

	if (op->access == ACCESS_NONE)
		return;
	if (op->access == ACCESS_FUTURE)
		t.made_s += 1000000000;
	if (op->access == ACCESS_EXPIRED)
		t.lifetime_s = 0;
	len = token_seal(&t, data);
	if (op->access == ACCESS_FORGED)
		data[2 + op->tid % (len - 2)] ^= 1;
	if (op->access == ACCESS_CUT)
		len -= 1 + op->tid % (len - 1);
	if (op->access == ACCESS_CUT && len == 64)
		len--;
	stun_put(writer, STUN_ACCESS_TOKEN, data, len);
}

static bool percent(struct model_world *w, uint32_t p)
{
	return test_rand_below(&w->rand, 100) < p;
}

void model_tokens_pick(struct model_world *w, struct op *op)
{
	if (w->user[op->user].token) {
		if (percent(w, 30)) // another user's token, and often of another key
			op->user = MODEL_TOKENS +
				test_rand_below(&w->rand, MODEL_USERS - MODEL_TOKENS);
		op->access = percent(w, 75) ? ACCESS_GOOD : test_rand_below(&w->rand, ACCESS_KINDS);
	} else if (op->user != MODEL_OTHER && percent(w, 1)) {
		op->access = ACCESS_GOOD;
	}
}

void model_tokens_toggle(struct model_world *w)
{
	const bool known = !w->user[MODEL_TOKENS].known;

	w->user[MODEL_TOKENS].known = w->user[MODEL_TOKENS + 1].known = known;
	w->config.first.oauth.nb_keys = known ? 2 : 1;
}

bool model_tokens_told(const struct stun_msg *m, bool told)
{
	return stun_has(m, STUN_THIRD_PARTY_AUTHORIZATION) == told;
}
#else
// Without the feature these users are unknown.
void model_tokens_init(struct model_world *w)
{
	for (unsigned int i = MODEL_TOKENS; i < MODEL_USERS; i++)
		w->user[i] = w->user[4];
}

void model_tokens_put(const struct model_world *w, struct stun_writer *writer, const struct op *op)
{
}

void model_tokens_pick(struct model_world *w, struct op *op)
{
}

void model_tokens_toggle(struct model_world *w)
{
}

bool model_tokens_told(const struct stun_msg *m, bool told)
{
	return true;
}
#endif
