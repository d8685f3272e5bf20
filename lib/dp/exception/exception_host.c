// SPDX-License-Identifier: BSD-3-Clause
// Configures the kernel's interface behind an exception port.
#include "exception/exception_host.h"

#include <stdio.h>
#include <stdlib.h>

#include "conf.h"
#include "datapath.h"
#include "dp.h"
#include "exception/exception.h"
#include "net.h"
#include "port.h"

#define METRIC 1024 // for default routes of the first port; each further port adds one

// True if the kernel accepts a router: it needs an address on its subnet first. Where the network
// assigns that address, it also provides the kernel's routes.
static bool is_reached(const struct conf_port *c, const struct addr *router)
{
	return addr_class(router) == ADDR_LINK_LOCAL || !conf_learns(c, addr_is_v4(router));
}

static uint32_t describe_routes(const struct conf_port *c, struct port_route *routes)
{
	uint32_t nb = 0;

	for (uint32_t i = 0; i < c->nb_routes; i++)
		if (is_reached(c, &c->routes[i].via))
			routes[nb++] = (struct port_route){c->routes[i].dst, c->routes[i].via};
	for (uint32_t i = 0; i < c->nb_gateways; i++)
		if (is_reached(c, &c->gateways[i]) &&
			!c->gateway_learned[addr_is_v4(&c->gateways[i])])
			routes[nb++] =
				(struct port_route){.dst.len = addr_is_v4(&c->gateways[i]) ? 96 : 0,
					.via = c->gateways[i]};
	return nb;
}

// The kernel gets the addresses and routes of the port, except those that the network assigns.
static void host_describe(const struct conf_port *c, struct prefix *addresses,
	struct port_route *routes, struct port_host *out)
{
	uint32_t nb = 0;

	for (uint32_t i = 0; i < c->nb_addresses; i++)
		if (c->addresses[i].learn == CONF_LEARN_NONE)
			addresses[nb++] =
				(struct prefix){c->addresses[i].addr, c->addresses[i].prefix_len};
	out->nb_addresses = nb;
	out->nb_routes = describe_routes(c, routes);
	out->addresses = addresses;
	out->routes = routes;
}

int exception_host_start(struct exception *e, char *error, size_t len)
{
	const struct dp_port *p = &e->dp->port[e->port];
	const struct conf_port *c = p->conf;
	struct prefix *addresses = calloc(c->nb_addresses, sizeof(*addresses));
	struct port_route *routes = calloc(c->nb_routes + c->nb_gateways + 1, sizeof(*routes));
	struct port_host host = {.interface = e->conf->name,
		.netns = e->conf->netns,
		.link_local = p->link_local,
		.slaac = conf_learns(c, false),
		.metric = METRIC + e->port,
		.segments = e->kernel->rx_super ? p->port->tso.segments : 0,
		.bytes = p->port->tso.bytes};
	int rc = -1;

	if (addresses != NULL && routes != NULL)
		host_describe(c, addresses, routes, &host);
	if (addresses == NULL || routes == NULL)
		snprintf(error, len, "out of memory");
	else if (e->kernel->ops->host == NULL)
		snprintf(error, len, "port %s: exception.device %s has no interface of the kernel",
			c->name, e->conf->device);
	else
		rc = e->kernel->ops->host(e->kernel, &host, error, len);
	free(addresses);
	free(routes);
	return rc;
}

// --- reload --------------------------------------------------------------------------------------

static struct port_route *room_for(const struct conf_port *c)
{
	return calloc(c->nb_routes + c->nb_gateways + 1, sizeof(struct port_route));
}

static int change_routes(struct exception *e, const struct conf_port *old_conf,
	const struct conf_port *new_conf, char *error, size_t len)
{
	struct port_route *was = room_for(old_conf), *current = room_for(new_conf);
	int rc = -1;

	if (was != NULL && current != NULL) {
		const struct port_routes before = {was, describe_routes(old_conf, was)};
		const struct port_routes after = {current, describe_routes(new_conf, current)};

		rc = e->kernel->ops->reroute(e->kernel, &before, &after, error, len);
	} else {
		snprintf(error, len, "out of memory");
	}
	free(was);
	free(current);
	return rc;
}

int exception_host_reroute(struct dp *d, const struct conf *c, char *error, size_t len)
{
	const struct conf_port *was = d->conf->ports;
	char ignored[256];

	for (unsigned int i = 0; i < d->nb_ports; i++) {
		if (d->exception[i] == NULL ||
			change_routes(d->exception[i], &was[i], &c->ports[i], error, len) == 0)
			continue;
		while (i-- > 0)
			if (d->exception[i] != NULL)
				change_routes(d->exception[i], &c->ports[i], &was[i], ignored,
					sizeof(ignored));
		return -1;
	}
	return 0;
}
