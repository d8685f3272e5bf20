// SPDX-License-Identifier: BSD-3-Clause
// Looks at the addresses of an interface one by one, and keeps only those that the entries need. So
// no number of other addresses, whoever made them, hides one.
#include "exception/learn_choose.h"
#include "conf.h"

static bool is_in_file(const struct conf_port *p, const struct addr *a)
{
	for (uint32_t i = 0; i < p->nb_addresses; i++)
		if (p->addresses[i].learn == CONF_LEARN_NONE && addr_eq(&p->addresses[i].addr, a))
			return true;
	return false;
}

static bool is_unique_local(const struct addr *a)
{
	return (a->b[0] & 0xfe) == 0xfc;
}

bool learn_choose_better(const struct addr *a, const struct addr *rival)
{
	return !addr_is_v4(a) && is_unique_local(rival) && !is_unique_local(a);
}

void learn_choose(void *ctx, const struct port_kernel_address *a)
{
	struct learn_choice *c = ctx;
	const bool is_v4 = addr_is_v4(&a->prefix.addr);

	if (addr_eq(&a->prefix.addr, &c->used[is_v4]))
		c->is_there[is_v4] = true;
	if ((c->any[is_v4] && !learn_choose_better(&a->prefix.addr, &c->first[is_v4].addr)) ||
		a->deprecated || is_in_file(c->port, &a->prefix.addr))
		return;
	c->any[is_v4] = true;
	c->first[is_v4] = a->prefix;
}
