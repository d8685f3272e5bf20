// SPDX-License-Identifier: BSD-3-Clause
// Checks ports, and gathers their addresses, gateways and routes.
#include "checks/checks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "devices/packet_spec.h"
#include "expanding/beside.h"
#include "expanding/listeners.h"
#include "expanding/relay_all.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"
#include "devices/vtap_spec.h"

static int check_mtu(struct conf_ctx *x, const struct conf_port *p)
{
	const struct conf_port *said = p; // the port whose key gives the MTU
	bool v6 = false;

	for (uint32_t i = 0; i < p->nb_addresses; i++)
		v6 = v6 || !addr_is_v4(&p->addresses[i].addr);
	// IPv6 needs an MTU of 1280 (RFC 8200 section 5)
	if (p->shares && conf_node_by_field(x->root, &p->mtu, 0) == NULL)
		said = &x->conf->ports[p->on];
	if (v6 && p->mtu < 1280)
		return conf_fail(x, conf_node_by_field(x->root, &said->mtu, 0),
			"%u is too small: a port with IPv6 addresses needs 1280", p->mtu);
	return 0;
}

// True for a port that is one device: not a VLAN, and not a bond, whose members are checked by
// themselves.
static bool is_device(const struct conf_port *p)
{
	return !p->shares && p->bond.nb_members == 0;
}

// Checks the device strings of vtaps. packets.c checks those of packet ports, and DPDK all others
// when it opens them.
static int check_device(struct conf_ctx *x, uint32_t port)
{
	const struct conf_port *ports = x->conf->ports;
	const struct conf_node *n = conf_node_by_field(x->root, &ports[port].device, 0);
	struct vtap_spec this, earlier;
	char reason[400];

	if (!is_device(&ports[port]) || packet_spec_is(ports[port].device))
		return 0;
	if (!vtap_spec_is(ports[port].device))
		return conf_device_check(ports[port].device, reason, sizeof(reason))
			? 0
			: conf_fail(x, n, "%s", reason);
	if (!vtap_spec_parse(ports[port].device, &this, reason, sizeof(reason)))
		return conf_fail(x, n, "%s", reason);
	for (uint32_t i = 0; i < port; i++) {
		if (vtap_spec_is(ports[i].device) &&
			vtap_spec_parse(ports[i].device, &earlier, reason, sizeof(reason)) &&
			strcmp(this.name, earlier.name) == 0 &&
			strcmp(this.netns, earlier.netns) == 0)
			return conf_fail(x, n, "port '%s' has the interface %s, too: remove one",
				ports[i].name, this.name);
	}
	return 0;
}

static int check_port_names(struct conf_ctx *x, uint32_t port)
{
	const struct conf_port *p = x->conf->ports, *this = &p[port];
	const struct conf_node *n = conf_node_by_field(x->root, &this->name, 0);

	if (n == NULL) // a VLAN named by default
		n = conf_node_by_field(x->root, &this->vlan, 0);
	for (uint32_t i = 0; i < port; i++) {
		if (strcmp(p[i].name, this->name) == 0)
			return conf_fail(x, n, "another port has the name '%s': give each its own",
				this->name);
		if (is_device(this) && is_device(&p[i]) &&
			conf_device_same(p[i].device, this->device))
			return conf_fail(x, conf_node_by_field(x->root, &this->device, 0),
				"port '%s' has this device, too: remove one", p[i].name);
	}
	return 0;
}

// Lists addresses and routers in the order of the file.
bool conf_ports_list(struct conf *c)
{
	const bool beside = conf_beside_loopback(c) >= 0;
	uint32_t local = 0, gateways = 0;

	for (uint32_t i = 0; i < c->nb_ports; i++) {
		local += c->ports[i].nb_addresses;
		gateways += c->ports[i].nb_gateways + c->ports[i].nb_routes;
	}
	c->turn.nb_local = c->turn.nb_gateways = 0;
	c->turn.local = calloc(local, sizeof(*c->turn.local));
	c->turn.gateways = calloc(gateways + 1, sizeof(*c->turn.gateways));
	if (c->turn.local == NULL || c->turn.gateways == NULL)
		return false;
	for (uint32_t i = 0; i < c->nb_ports; i++) {
		const struct conf_port *p = &c->ports[i];

		for (uint32_t j = 0; j < p->nb_addresses; j++) {
			const struct conf_address *a = &p->addresses[j];

			c->turn.local[c->turn.nb_local++] = (struct turn_local){.addr = a->addr,
				.port = (uint8_t)i,
				.subnet = addr_prefix_at(&a->addr, a->prefix_len),
				.external = a->external,
				.beside = beside && conf_beside_may(p)};
		}
		for (uint32_t j = 0; j < p->nb_gateways; j++)
			c->turn.gateways[c->turn.nb_gateways++] = p->gateways[j];
		for (uint32_t j = 0; j < p->nb_routes; j++)
			c->turn.gateways[c->turn.nb_gateways++] = p->routes[j].via;
	}
	return conf_routes_gather(c);
}

bool conf_ports_own(const struct turn_config *t, const struct addr *a)
{
	for (uint32_t i = 0; i < t->nb_local; i++)
		if (addr_eq(&t->local[i].addr, a))
			return true;
	return false;
}

bool conf_ports_listener_again(const struct turn_config *t, uint32_t i)
{
	for (uint32_t j = 0; j < i; j++)
		if (endpoint_eq(&t->listeners[j].endpoint, &t->listeners[i].endpoint))
			return true;
	return false;
}

int conf_ports_gather(struct conf_ctx *x)
{
	int rc;

	conf_learns_stand_in(x->conf);
	rc = conf_ports_list(x->conf) ? 0 : conf_fail_memory(x);
	if (rc == 0)
		rc = conf_listeners_expand(x);
	return conf_relay_all_expand(x) != 0 ? -EINVAL : rc;
}

int conf_ports_check(struct conf_ctx *x)
{
	int rc = 0;

	if (conf_bonds_check(x) != 0)
		return -EINVAL;
	for (uint32_t i = 0; i < x->conf->nb_ports; i++) {
		const struct conf_port *p = &x->conf->ports[i];

		if (check_port_names(x, i) != 0 || check_device(x, i) != 0)
			rc = -EINVAL;
		if (conf_learns_check(x, i) != 0)
			rc = -EINVAL;
		if (check_mtu(x, p) != 0 || conf_routers_check_port(x, p) != 0)
			rc = -EINVAL;
	}
	return conf_own_addrs_check(x) != 0 ? -EINVAL : rc;
}
