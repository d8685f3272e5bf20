// SPDX-License-Identifier: BSD-3-Clause
// Makes a policy for a box whose addresses have changed. Users, secrets and realms are those of the
// old policy: their passwords have been wiped from the configuration, and only the policy has them.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "auth/policy.h"
#include "secret.h"
#include "turn_policy.h"

// Moves the result of policy_make_addresses from src to dst.
static void take_addresses(struct turn_policy *dst, const struct turn_policy *src)
{
	dst->rules = src->rules;
	dst->relay = src->relay;
	dst->local = src->local;
	dst->beside = src->beside;
	for (unsigned int i = 0; i < 2; i++) {
		dst->listener[i] = src->listener[i];
		dst->nb_listener[i] = src->nb_listener[i];
	}
	dst->external = src->external;
	dst->relay_pools = src->relay_pools;
#define X(type, field, make, free) dst->field = src->field;
	TURN_POLICY_ADDRESSES(X)
#undef X
	dst->broadcasts = src->broadcasts;
	dst->local_ports = src->local_ports;
	dst->routes = src->routes;
	dst->nb_relay = src->nb_relay;
	dst->nb_local = src->nb_local;
	dst->nb_beside = src->nb_beside;
	dst->nb_own = src->nb_own;
	dst->nb_routes = src->nb_routes;
	dst->nb_broadcasts = src->nb_broadcasts;
}

struct turn_policy *policy_copy(const struct turn_policy *p, const struct turn_policy *src)
{
	struct turn_policy *n = secret_alloc(sizeof(*n));

	if (n == NULL)
		return NULL;
	*n = *p;
	take_addresses(n, src);
	return n;
}

struct turn_policy *turn_policy_move(const struct turn_policy *p, const struct turn_config *c)
{
	static const struct turn_policy none;
	struct turn_policy *n = policy_copy(p, &none);
	int err;

	if (n == NULL)
		return NULL;
#define X(type, field, make, move, free) memset(&n->field, 0, sizeof(n->field));
	TURN_POLICY_LAST(X)
#undef X
	err = policy_make_addresses(n, c);
#define X(type, field, make, move, free) \
	if (err == 0)                    \
		err = move(n, p);
	TURN_POLICY_LAST(X)
#undef X
	if (err == 0)
		return n;
	turn_policy_moved_free(n);
	errno = err;
	return NULL;
}

void turn_policy_moved_free(struct turn_policy *p)
{
	if (p == NULL)
		return;
#define X(type, field, make, move, free) free(p, true);
	TURN_POLICY_LAST(X)
#undef X
	policy_free_addresses(p);
	secret_free(p);
}
