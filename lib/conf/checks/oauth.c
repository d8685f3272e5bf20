// SPDX-License-Identifier: BSD-3-Clause
// Keys of access tokens: whether each is one, and whether names tell them apart. No reason quotes a
// key.
#include "checks/oauth.h"

#include <errno.h>
#include <string.h>

#include "conf.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"
#include "token.h"

static const char *algorithm_of(const struct turn_oauth_key *k)
{
	return k->algorithm == STUN_TOKEN_A128GCM ? "A128GCM" : "A256GCM";
}

static int check_secret(struct conf_ctx *x, const struct turn_oauth *o, uint32_t i)
{
	const struct turn_oauth_key *k = &o->keys[i];
	struct stun_token_key key = {.alg = k->algorithm};
	const size_t len = stun_token_key_len(k->algorithm);
	const struct conf_node *n = conf_node_of(x->root, &k->secret, 0);
	int has;

	if (k->secret == NULL)
		return conf_fail(x, conf_node_of(x->root, &o->keys, i),
			"this key has no secret: give it secret or secret-file");
	has = stun_token_key_read(k->secret, &key);
	explicit_bzero(&key, sizeof(key));
	if (has < 0)
		return conf_fail(x, n,
			"must be %zu hexadecimal digits, or %zu bytes in base64 (openssl rand "
			"-base64 %zu)",
			2 * len, len, len);
	if ((size_t)has != len)
		return conf_fail(x, n,
			"is %d bytes in base64, %s takes %zu (coturn takes the first %zu of more)",
			has, algorithm_of(k), len, len);
	return 0;
}

static int check_kid(struct conf_ctx *x, const struct turn_oauth *o, uint32_t i,
	const struct turn_user *users, uint32_t nb_users)
{
	const struct conf_node *n = conf_node_of(x->root, &o->keys[i].kid, 0);

	for (uint32_t k = 0; k < i; k++)
		if (strcmp(o->keys[k].kid, o->keys[i].kid) == 0)
			return conf_fail(x, n, "keys[%u] has this kid already: remove one", k);
	for (uint32_t k = 0; k < nb_users; k++)
		if (strcmp(users[k].name, o->keys[i].kid) == 0)
			return conf_fail(x, n,
				"users[%u] has this name: both are a USERNAME, so call one of them "
				"otherwise",
				k);
	return 0;
}

static int check_time(struct conf_ctx *x, const struct turn_oauth_key *k)
{
	if (k->lifetime_s == 0 || k->timestamp_s != 0)
		return 0;
	return conf_fail(x, conf_node_of(x->root, &k->lifetime_s, 0),
		"counts from timestamp: give that, too (date +%%s says it for now)");
}

int conf_oauth_check(struct conf_ctx *x, const struct turn_oauth *o, const struct turn_user *users,
	uint32_t nb_users)
{
	int rc = 0;

	for (uint32_t i = 0; i < o->nb_keys && !conf_fail_enough(x); i++)
		if (check_secret(x, o, i) != 0 || check_kid(x, o, i, users, nb_users) != 0 ||
			check_time(x, &o->keys[i]) != 0)
			rc = -EINVAL;
	return rc;
}
