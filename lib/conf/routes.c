// SPDX-License-Identifier: BSD-3-Clause
// The routing table of a configuration: on-link subnets, routes and gateways.
// A port with relay pools of realms is a separate network ("apart"): its routes apply only to its
// own addresses, and its addresses use no other routes. So networks of tenants may overlap.
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "tables/routes.h"

// Several addresses of one subnet make one route. A subnet of a single address makes no route: the
// only host there is this box.
static void add_route(struct turn_config *t, struct route r)
{
	if (r.direct && r.dst.len == 128)
		return;
	for (uint32_t i = 0; i < t->nb_routes; i++)
		if (t->routes[i].port == r.port && t->routes[i].dst.len == r.dst.len &&
			addr_eq(&t->routes[i].dst.addr, &r.dst.addr))
			return;
	t->routes[t->nb_routes++] = r;
}

static void add_port(struct turn_config *t, const struct conf_port *p, uint8_t port)
{
	for (uint32_t i = 0; i < p->nb_addresses; i++) {
		const struct conf_address *a = &p->addresses[i];

		add_route(t,
			(struct route){.dst = addr_prefix_at(&a->addr, a->prefix_len),
				.port = port,
				.direct = true});
	}
	for (uint32_t i = 0; i < p->nb_routes; i++)
		add_route(t,
			(struct route){
				.dst = p->routes[i].dst, .via = p->routes[i].via, .port = port});
	for (uint32_t i = 0; i < p->nb_gateways; i++) {
		const struct addr *g = &p->gateways[i];
		const uint8_t len = addr_is_v4(g) ? 96 : 0;

		add_route(t,
			(struct route){.dst = addr_prefix_at(g, len),
				.via = *g,
				.port = port,
				.not_for = ROUTES_ONLY_FOR(port)});
	}
}

// --- ports apart ---------------------------------------------------------------------------------

static bool is_named(char *const *names, uint32_t nb, const char *pool)
{
	for (uint32_t i = 0; i < nb; i++)
		if (strcmp(names[i], pool) == 0)
			return true;
	return false;
}

// True if a realm's list of pools contains this pool.
static bool is_of_realms(const struct turn_config *t, const char *pool)
{
	bool listed = false;

	for (uint32_t i = 0; i < turn_config_nb_realms(t) && !listed; i++) {
		const struct turn_realm *r = turn_config_realm(t, i);

		listed = is_named(r->relay_pool_names, r->nb_relay_pool_names, pool);
	}
	return listed;
}

// The port that has an address of this box, as a bit, or 0 if no port has it.
static uint32_t port_of(const struct conf *c, const struct addr *a)
{
	const struct conf_port *p = conf_port_find(c, a);

	return p != NULL ? UINT32_C(1) << (p - c->ports) : 0;
}

// A port with relay addresses that all realms use is not apart.
static uint32_t ports_apart(const struct conf *c)
{
	const struct turn_config *t = &c->turn;
	uint32_t apart = 0;

	_Static_assert(CONF_PORTS_MAX <= ROUTES_PORTS_MAX, "a bit for each port");
	for (uint32_t i = 0; i < t->nb_relay_pools && turn_config_nb_realms(t) > 1; i++) {
		const struct turn_relay_pool *p = &t->relay_pools[i];

		for (uint32_t k = 0; k < p->nb_addresses && is_of_realms(t, p->name); k++)
			apart |= port_of(c, &p->addresses[k]);
	}
	for (uint32_t i = 0; i < t->nb_relay; i++)
		apart &= ~port_of(c, &t->relay[i]);
	return apart;
}

// --- all -----------------------------------------------------------------------------------------

static void keep_apart(struct route *r, uint32_t apart)
{
	const bool is_apart = (apart >> r->port & 1) != 0;

	r->not_for |= (is_apart ? UINT32_MAX : apart) & ROUTES_ONLY_FOR(r->port);
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
	t->apart = ports_apart(c);
	for (uint32_t i = 0; i < t->nb_routes; i++)
		keep_apart(&t->routes[i], t->apart);
	routes_sort(t->routes, t->nb_routes);
	return true;
}
