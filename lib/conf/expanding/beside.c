// SPDX-License-Identifier: BSD-3-Clause
// Makes programs of this machine usable as peers: if peers.allow names an address of a packet port,
// a port on the loopback is appended to the ports. Traffic between such programs and relay ports
// uses it, because the kernel sends none of it out of an interface.
#include "expanding/beside.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "devices/packet_spec.h"
#include "expanding/vlan_ports.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"

#define NAME "lo"
#define HOST 128 // prefix length of a single address

bool conf_beside_may(const struct conf_port *p)
{
	return !p->shares && !p->loopback && p->bond.nb_members == 0 && p->device != NULL &&
		packet_spec_is(p->device);
}

int conf_beside_loopback(const struct conf *c)
{
	for (uint32_t i = c->nb_ports; i-- > 0;)
		if (c->ports[i].loopback)
			return (int)i;
	return -1;
}

static bool is_named(const struct addr *a, const struct prefix *allow, uint32_t nb)
{
	for (uint32_t i = 0; i < nb; i++)
		if (allow[i].len == HOST && addr_eq(&allow[i].addr, a))
			return true;
	return false;
}

// True if some realm names the address.
static bool is_named_by_any(const struct turn_config *t, const struct addr *a)
{
	bool named = is_named(a, t->allow, t->nb_allow);

	for (uint32_t i = 0; i < turn_config_nb_realms(t); i++) {
		const struct turn_realm *r = turn_config_realm(t, i);

		named |= is_named(a, r->allow, r->nb_allow);
	}
	return named;
}

// Returns the first port with an address that is named, or -1.
static int first_named(const struct conf *c)
{
	for (uint32_t i = 0; i < c->nb_ports; i++) {
		const struct conf_port *p = &c->ports[i];

		for (uint32_t k = 0; conf_beside_may(p) && k < p->nb_addresses; k++)
			if (is_named_by_any(&c->turn, &p->addresses[k].addr))
				return (int)i;
	}
	return -1;
}

static int check_room(struct conf_ctx *x)
{
	const struct conf *c = x->conf;

	for (uint32_t i = 0; i < c->nb_ports; i++)
		if (c->ports[i].name != NULL && strcmp(c->ports[i].name, NAME) == 0)
			return conf_fail(x, conf_node_by_field(x->root, &c->ports[i].name, 0),
				"the loopback has the name '" NAME
				"', because peers.allow has an address of this box: choose "
				"another");
	if (c->nb_ports < CONF_PORTS_MAX)
		return 0;
	return conf_fail(x, conf_node_by_field(x->root, &c->turn.allow, 0),
		"names an address of this box, which needs a port on the loopback: remove it, or "
		"one of the %u ports and VLANs, the most that are possible",
		c->nb_ports);
}

int conf_beside_expand(struct conf_ctx *x)
{
	struct conf *c = x->conf;
	const int on = first_named(c);
	struct conf_port *p;

	if (on < 0)
		return 0;
	if (check_room(x) != 0 || conf_vlans_grow(x, c->nb_ports + 1) != 0)
		return -EINVAL;
	p = &c->ports[c->nb_ports++];
	p->name = strdup(NAME);
	p->device = strdup("packet:" NAME);
	p->loopback = true;
	p->on = (uint8_t)on;
	for (uint32_t i = 0; i + 1 < c->nb_ports; i++)
		p->mtu = c->ports[i].mtu > p->mtu ? c->ports[i].mtu : p->mtu;
	return p->name != NULL && p->device != NULL ? 0 : conf_fail_memory(x);
}
