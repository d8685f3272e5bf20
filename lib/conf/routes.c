// SPDX-License-Identifier: BSD-3-Clause
// The table of routes of a configuration: what is on-link, behind a route or behind a gateway.
#include <stdlib.h>

#include "conf.h"
#include "reading/addrs.h"
#include "routes.h"

// Many addresses of one subnet make one route. A subnet of one address makes none: who is there is
// this box.
static void add(struct turn_config *t, struct route r)
{
	if (r.direct && r.to.len == 128)
		return;
	for (uint32_t i = 0; i < t->nb_routes; i++)
		if (t->routes[i].port == r.port && t->routes[i].to.len == r.to.len &&
			addr_eq(&t->routes[i].to.addr, &r.to.addr))
			return;
	t->routes[t->nb_routes++] = r;
}

static void add_port(struct turn_config *t, const struct conf_port *p, uint8_t port)
{
	for (uint32_t i = 0; i < p->nb_addresses; i++) {
		const struct conf_address *a = &p->addresses[i];

		add(t,
			(struct route){.to = conf_addrs_prefix(&a->addr, a->prefix_len),
				.port = port,
				.direct = true});
	}
	for (uint32_t i = 0; i < p->nb_routes; i++)
		add(t,
			(struct route){
				.to = p->routes[i].to, .via = p->routes[i].via, .port = port});
	for (uint32_t i = 0; i < p->nb_gateways; i++) {
		const struct addr *g = &p->gateways[i];
		const uint8_t len = addr_is_v4(g) ? 96 : 0;

		add(t,
			(struct route){.to = conf_addrs_prefix(g, len),
				.via = *g,
				.port = port,
				.own = true});
	}
}

bool conf_routes_gather(struct conf *c)
{
	struct turn_config *t = &c->turn;
	size_t nb = 1;

	for (uint32_t i = 0; i < c->nb_ports; i++)
		nb += c->ports[i].nb_addresses + c->ports[i].nb_routes + c->ports[i].nb_gateways;
	t->nb_routes = 0;
	t->routes = calloc(nb, sizeof(*t->routes));
	if (t->routes == NULL)
		return false;
	for (uint32_t i = 0; i < c->nb_ports; i++)
		add_port(t, &c->ports[i], (uint8_t)i);
	routes_sort(t->routes, t->nb_routes);
	return true;
}
