// SPDX-License-Identifier: BSD-3-Clause
// Makes a policy for a box whose addresses have changed. Users, secrets and realms are those of the
// old policy: their passwords have been wiped from the configuration, and are in memory once.
#include <errno.h>
#include <stdlib.h>

#include "auth/policy.h"
#include "features/realms/realms.h"
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

static struct turn_policy *copy_policy(const struct turn_policy *p)
{
	struct turn_policy *n = secret_alloc(sizeof(*n));

	if (n != NULL)
		*n = *p;
	return n;
}

// A realm's rules of pools contain no address of the box, and do not change.
static int move_realm(
	struct realms *r, const struct turn_policy *first, const struct turn_policy *p)
{
	struct turn_policy *n = copy_policy(p);

	if (n == NULL)
		return ENOMEM;
	take_addresses(n, first);
	n->relay_pools.rule = p->relay_pools.rule;
	n->relay_pools.nb_rules = p->relay_pools.nb_rules;
	r->list[r->nb++] = n;
	r->by_number[n->number] = n;
	return 0;
}

static int move_realms(struct turn_policy *first, const struct realms *before)
{
	struct realms *r = calloc(1, sizeof(*r));
	int err = 0;

	first->realms = r;
	if (r == NULL)
		return ENOMEM;
	*r = *before;
	r->nb = 0;
	r->list = calloc((size_t)before->nb + 1, sizeof(struct turn_policy *));
	if (r->list == NULL)
		return ENOMEM;
	for (unsigned int i = 0; i < TURN_REALM_NUMBERS; i++)
		r->by_number[i] = first;
	for (uint32_t i = 0; i < before->nb && err == 0; i++)
		err = move_realm(r, first, before->list[i]);
	return err;
}

struct turn_policy *turn_policy_move(const struct turn_policy *p, const struct turn_config *c)
{
	static const struct turn_policy none;
	struct turn_policy *n = copy_policy(p);
	int err;

	if (n == NULL)
		return NULL;
	take_addresses(n, &none);
	n->realms = NULL;
	err = policy_make_addresses(n, c);
	if (err == 0 && p->realms != NULL)
		err = move_realms(n, p->realms);
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
	for (uint32_t i = 0; p->realms != NULL && i < p->realms->nb; i++)
		secret_free(p->realms->list[i]);
	if (p->realms != NULL)
		free(p->realms->list);
	free(p->realms);
	policy_free_addresses(p);
	secret_free(p);
}
