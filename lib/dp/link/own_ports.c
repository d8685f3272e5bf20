// SPDX-License-Identifier: BSD-3-Clause
// Tells a port that leaves the rest to the kernel what is not the kernel's.
#include "link/own_ports.h"

#include <stdlib.h>

#include "conf.h"
#include "port.h"

static bool is_on(const struct conf_port *p, const struct addr *a)
{
	for (uint32_t i = 0; i < p->nb_addresses; i++)
		if (addr_eq(&p->addresses[i].addr, a))
			return true;
	return false;
}

static void add_relay(const struct turn_config *t, const struct conf_port *p,
	const struct addr *list, uint32_t n, struct port_own *own, uint32_t *nb)
{
	for (uint32_t i = 0; i < n; i++)
		if (is_on(p, &list[i]))
			own[(*nb)++] = (struct port_own){list[i], t->port_lo, t->port_hi};
}

struct port_own *own_ports_list(const struct conf *c, uint32_t port, uint32_t *nb)
{
	const struct turn_config *t = &c->turn;
	const struct conf_port *p = &c->ports[port];
	size_t room = (size_t)t->nb_listeners + t->nb_relay + 1;
	struct port_own *own;

	for (uint32_t i = 0; i < t->nb_relay_pools; i++)
		room += t->relay_pools[i].nb_addresses;
	*nb = 0;
	own = calloc(room, sizeof(*own));
	if (own == NULL)
		return NULL;
	for (uint32_t i = 0; i < t->nb_listeners; i++) {
		const struct turn_listener *l = &t->listeners[i];

		if (!turn_listener_is_stream(l) && is_on(p, &l->at.addr))
			own[(*nb)++] = (struct port_own){l->at.addr, l->at.port, l->at.port};
	}
	add_relay(t, p, t->relay, t->nb_relay, own, nb);
	for (uint32_t i = 0; i < t->nb_relay_pools; i++)
		add_relay(
			t, p, t->relay_pools[i].addresses, t->relay_pools[i].nb_addresses, own, nb);
	return own;
}
