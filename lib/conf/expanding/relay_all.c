// SPDX-License-Identifier: BSD-3-Clause
// Turns `relay: {addresses: all}` into addresses: all addresses of ports, except those that replace
// relay addresses in a pool.
#include "expanding/relay_all.h"

#include <errno.h>
#include <stdlib.h>

#include "conf.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"

#define RELAY_MAX 4096 // the limit of a list

static bool is_of_pool(const struct turn_config *t, const struct addr *a)
{
	for (uint32_t i = 0; i < t->nb_relay_pools; i++)
		for (uint32_t k = 0; k < t->relay_pools[i].nb_addresses; k++)
			if (addr_eq(&t->relay_pools[i].addresses[k], a))
				return true;
	return false;
}

static bool is_wanted(const struct conf *c, const struct addr *a)
{
	if (c->relay_on != TURN_LISTEN_ALL &&
		(c->relay_on == TURN_LISTEN_ALL_IPV4) != addr_is_v4(a))
		return false;
	return !is_of_pool(&c->turn, a);
}

int conf_relay_all_expand(struct conf_ctx *x)
{
	struct conf *c = x->conf;
	struct turn_config *t = &c->turn;
	struct conf_node *n;

	if (c->relay_on == TURN_LISTEN_ONE)
		return 0;
	n = (struct conf_node *)(uintptr_t)conf_node_by_field(x->root, &t->relay, 0);
	t->relay = calloc((size_t)t->nb_local + 1, sizeof(*t->relay));
	if (t->relay == NULL)
		return conf_fail_memory(x);
	for (uint32_t i = 0; i < t->nb_local; i++)
		if (is_wanted(c, &t->local[i].addr))
			t->relay[t->nb_relay++] = t->local[i].addr;
	c->relay_on = TURN_LISTEN_ONE;
	n->count = t->nb_relay;
	if (t->nb_relay == 0)
		return conf_fail(x, n,
			t->nb_relay_pools > 0 ? "all addresses of the ports are in pools: add one "
						"to ports[].addresses"
					      : "no port has an address of this family");
	if (t->nb_relay > RELAY_MAX)
		return conf_fail(x, n, "%u addresses: at most %u are allowed in all", t->nb_relay,
			RELAY_MAX);
	return 0;
}
