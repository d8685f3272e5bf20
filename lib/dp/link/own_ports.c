// SPDX-License-Identifier: BSD-3-Clause
// Lists our UDP ports for a port that leaves all other traffic to the kernel.
#include "link/own_ports.h"

#include <stdlib.h>

#include "conf.h"
#include "port.h"

// True if packets to an address come in on a port: it is the port's own, or the port is the
// loopback and programs of this machine use it.
static bool comes_in_on(const struct conf *c, uint32_t port, const struct addr *a)
{
	const struct turn_config *t = &c->turn;

	for (uint32_t i = 0; i < t->nb_local; i++)
		if (addr_eq(&t->local[i].addr, a))
			return c->ports[port].loopback ? t->local[i].beside
						       : t->local[i].port == port;
	return false;
}

// True if the network has assigned an address of a port, and may assign another one.
static bool may_move(const struct conf_port *p, const struct addr *a)
{
	const struct conf_address *address = conf_port_address(p, a);

	return address != NULL && address->learn != CONF_LEARN_NONE;
}

// Writes those of n relay addresses that come in on the port. Returns their number.
static uint32_t add_relay(const struct conf *c, uint32_t port, const struct addr *list, uint32_t n,
	struct port_own *owned)
{
	uint32_t nb = 0;

	for (uint32_t i = 0; i < n; i++)
		if (comes_in_on(c, port, &list[i]))
			owned[nb++] = (struct port_own){list[i], c->turn.port_lo, c->turn.port_hi,
				may_move(&c->ports[port], &list[i])};
	return nb;
}

struct port_own *own_ports_list(const struct conf *c, uint32_t port, uint32_t *nb)
{
	const struct turn_config *t = &c->turn;
	size_t room = (size_t)t->nb_listeners + t->nb_relay + 1;
	struct port_own *owned;

	for (uint32_t i = 0; i < t->nb_relay_pools; i++)
		room += t->relay_pools[i].nb_addresses;
	*nb = 0;
	owned = calloc(room, sizeof(*owned));
	if (owned == NULL)
		return NULL;
	for (uint32_t i = 0; i < t->nb_listeners; i++) {
		const struct turn_listener *l = &t->listeners[i];

		if (!turn_listener_is_stream(l) && !c->ports[port].loopback &&
			comes_in_on(c, port, &l->endpoint.addr))
			owned[(*nb)++] = (struct port_own){l->endpoint.addr, l->endpoint.port,
				l->endpoint.port, may_move(&c->ports[port], &l->endpoint.addr)};
	}
	*nb += add_relay(c, port, t->relay, t->nb_relay, owned + *nb);
	for (uint32_t i = 0; i < t->nb_relay_pools; i++)
		*nb += add_relay(c, port, t->relay_pools[i].addresses,
			t->relay_pools[i].nb_addresses, owned + *nb);
	return owned;
}
