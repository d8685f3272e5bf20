// SPDX-License-Identifier: BSD-3-Clause
// Derives limits from the relay ports and the number of users.
#include "checks/checks.h"
#include "conf.h"
#include "reading/ctx.h"
#include "reading/node.h"
#include "problems.h"

#define ALLOCATIONS_MAX 16777216 // maximum of limits.allocations
#define USER_PART 4 // one user may have 1/USER_PART of the allocations,
#define USER_LEAST 2 // but always two: a pair of ports, or one allocation of each family

uint32_t conf_relay_left(const struct turn_config *t, const struct addr *a)
{
	uint32_t nb = (uint32_t)t->port_hi - t->port_lo + 1;

	for (uint32_t i = 0; i < t->nb_listeners; i++) {
		const struct endpoint *endpoint = &t->listeners[i].endpoint;

		nb -= addr_eq(&endpoint->addr, a) && endpoint->port >= t->port_lo &&
			endpoint->port <= t->port_hi && !conf_ports_listener_again(t, i);
	}
	return nb;
}

static uint64_t ports_of(const struct turn_config *t, bool is_v4)
{
	uint64_t nb = 0;

	for (uint32_t i = 0; i < t->nb_relay; i++)
		if (addr_is_v4(&t->relay[i]) == is_v4)
			nb += conf_relay_left(t, &t->relay[i]);
	return nb;
}

// Counts the allocations that users share: those of the family with the fewest ports, or all
// allocations where ports are shared.
static uint64_t count_allocations(const struct turn_config *t)
{
	const uint64_t v4 = ports_of(t, true), v6 = ports_of(t, false);

	if (turn_config_shares_ports(t))
		return t->limits.allocations;
	return v4 == 0 || (v6 > 0 && v6 < v4) ? v6 : v4;
}

static uint32_t user_default(const struct turn_config *t)
{
	const uint64_t part = count_allocations(t) / USER_PART;

	if (turn_config_one_user(t))
		return 0;
	return part > USER_LEAST ? (uint32_t)part : USER_LEAST;
}

int conf_allocations_fill(struct conf_ctx *x)
{
	struct turn_config *t = &x->conf->turn;
	const uint64_t all = ports_of(t, true) + ports_of(t, false);

	if (conf_node_by_field(x->root, &t->limits.allocations, 0) == NULL &&
		t->limits.allocations == 0)
		t->limits.allocations = all < ALLOCATIONS_MAX ? (uint32_t)all : ALLOCATIONS_MAX;
	if (conf_node_by_field(x->root, &t->limits.per_user, 0) == NULL)
		t->limits.per_user = user_default(t);
	return 0;
}

void conf_allocations_warn(const struct conf *c, struct conf_report *r)
{
	const struct turn_config *t = &c->turn;
	const uint64_t all = count_allocations(t);

	if (turn_config_one_user(t) || (t->limits.per_user != 0 && t->limits.per_user < all))
		return;
	conf_tell(r, CONF_WARNING, (struct conf_at){c, &t->limits.per_user, 0, "limits.per-user"},
		"one user can take all %llu %s from the others: remove it, for a quarter of them, "
		"or lower it",
		(unsigned long long)all,
		turn_config_shares_ports(t) ? "allocations" : "relay ports of a family");
}
