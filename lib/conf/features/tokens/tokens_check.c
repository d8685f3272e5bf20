// SPDX-License-Identifier: BSD-3-Clause
// Checks the keys of access tokens: their lengths and that their names differ. No error quotes a
// key.

#include <errno.h>
#include <string.h>

#include "conf.h"
#include "conf_features.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"
#include "features/tokens/token.h"

// Decides which algorithm a key is for, by its length.
static int check_secret(struct conf_ctx *x, struct turn_oauth *o, uint32_t i)
{
	static const enum stun_token_alg algorithms[] = {STUN_TOKEN_A128GCM, STUN_TOKEN_A256GCM};
	struct turn_oauth_key *k = &o->keys[i];
	int has = -1;

	if (k->secret == NULL)
		return conf_fail(x, conf_node_by_field(x->root, &o->keys, i),
			"this key has no secret: give it secret or secret-file");
	for (unsigned int a = 0; a < 2; a++) {
		struct stun_token_key key = {.alg = algorithms[a]};

		has = stun_token_key_read(k->secret, &key);
		explicit_bzero(&key, sizeof(key));
		k->algorithm = algorithms[a];
		if (has == (int)stun_token_key_len(algorithms[a]))
			return 0;
	}
	if (has < 0)
		return conf_fail(x, conf_node_by_field(x->root, &k->secret, 0),
			"must be 64 or 32 hexadecimal digits, or 32 or 16 bytes in base64 "
			"(openssl rand -base64 32)");
	return conf_fail(x, conf_node_by_field(x->root, &k->secret, 0),
		"is %d bytes in base64, a key has 32 or 16 (coturn takes the first 32 of more)",
		has);
}

static int check_kid(struct conf_ctx *x, const struct turn_oauth *o, uint32_t i,
	const struct turn_user *users, uint32_t nb_users)
{
	const struct conf_node *n = conf_node_by_field(x->root, &o->keys[i].kid, 0);

	for (uint32_t k = 0; k < i; k++)
		if (strcmp(o->keys[k].kid, o->keys[i].kid) == 0)
			return conf_fail(x, n, "keys[%u] has this kid already: remove one", k);
	for (uint32_t k = 0; k < nb_users; k++)
		if (strcmp(users[k].name, o->keys[i].kid) == 0)
			return conf_fail(x, n,
				"users[%u] has this name, and both are a USERNAME: rename one of "
				"them",
				k);
	return 0;
}

// Checks the keys of one realm; users are the realm's users.
static int check_keys(
	struct conf_ctx *x, struct turn_oauth *o, const struct turn_user *users, uint32_t nb_users)
{
	int rc = 0;

	for (uint32_t i = 0; i < o->nb_keys && !conf_fail_enough(x); i++)
		if (check_secret(x, o, i) != 0 || check_kid(x, o, i, users, nb_users) != 0)
			rc = -EINVAL;
	return rc;
}

int conf_tokens_check(struct conf_ctx *x)
{
	struct turn_config *t = &x->conf->turn;
	int rc = 0;

	for (uint32_t i = 0; i < turn_config_nb_realms(t); i++) {
		struct turn_realm *r = turn_config_realm(t, i);

		if (check_keys(x, &r->oauth, r->users, r->nb_users) != 0)
			rc = -EINVAL;
	}
	return rc;
}
