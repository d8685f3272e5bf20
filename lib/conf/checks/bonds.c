// SPDX-License-Identifier: BSD-3-Clause
// Checks bonds: several devices as one port.
#include "checks/checks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "conf.h"
#include "devices/packet_spec.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"
#include "devices/vtap_spec.h"

// Returns a port that uses the device of member k of port i, too, if it comes earlier in the file
// or is not a bond. NULL if there is no such port.
static const struct conf_port *other_owner(const struct conf *c, uint32_t i, uint32_t k)
{
	const char *device = c->ports[i].bond.members[k];

	for (uint32_t o = 0; o < c->nb_ports; o++) {
		const struct conf_port *p = &c->ports[o];
		const bool bond = p->bond.nb_members > 0;

		for (uint32_t m = 0; m < conf_port_devices(p); m++) {
			const bool earlier = !bond || o < i || (o == i && m < k);

			if (earlier && conf_device_same(conf_port_device(p, m), device))
				return p;
		}
	}
	return NULL;
}

static int check_member(struct conf_ctx *x, uint32_t i, uint32_t k)
{
	const struct conf_port *p = &x->conf->ports[i], *owner = other_owner(x->conf, i, k);
	const struct conf_node *n = conf_node_by_field(x->root, &p->bond.members, k);
	const char *device = p->bond.members[k];
	char reason[400];

	if (vtap_spec_is(device) || packet_spec_is(device) || strncmp(device, "replay:", 7) == 0)
		return conf_fail(x, n,
			"'%.*s' cannot be a member of a bond: name PCI addresses or DPDK vdevs",
			(int)strcspn(device, ","), device);
	if (!conf_device_check(device, reason, sizeof(reason)))
		return conf_fail(x, n, "%s", reason);
	if (owner == p)
		return conf_fail(x, n, "is in this bond twice: remove one");
	if (owner != NULL)
		return conf_fail(x, n, "port '%s' has this device, too: remove one", owner->name);
	return 0;
}

int conf_bond_primary(const struct conf_bond *b)
{
	for (uint32_t k = 0; k < b->nb_members && b->primary != NULL; k++)
		if (conf_device_same(b->members[k], b->primary))
			return (int)k;
	return -1;
}

static int check_primary(struct conf_ctx *x, const struct conf_bond *b)
{
	const struct conf_node *n = conf_node_by_field(x->root, &b->primary, 0);

	if (b->primary == NULL)
		return 0;
	if (b->mode != CONF_BOND_ACTIVE_BACKUP)
		return conf_fail(x, n,
			"all links of a bond in this mode carry packets: remove it, or write "
			"mode: active-backup");
	if (conf_bond_primary(b) >= 0)
		return 0;
	return conf_fail(x, n, "is not a member of the bond: name a member");
}

static int check_bond(struct conf_ctx *x, uint32_t i)
{
	const struct conf_port *p = &x->conf->ports[i];
	int rc = check_primary(x, &p->bond);

	for (uint32_t k = 0; k < p->bond.nb_members; k++)
		if (check_member(x, i, k) != 0)
			rc = -EINVAL;
	return rc;
}

// Checks that a port is either one device or a bond, and sets the device of a bond.
static int resolve_device(struct conf_ctx *x, uint32_t i)
{
	struct conf_port *p = &x->conf->ports[i];
	const struct conf_node *map = conf_node_by_field(x->root, &x->conf->ports, i);
	const struct conf_node *device = conf_node_by_field(x->root, &p->device, 0);
	const struct conf_node *mode = conf_node_by_field(x->root, &p->bond.mode, 0);

	if (p->bond.nb_members == 0 && mode != NULL)
		return conf_fail_key(x, mode->parent, "members",
			"missing, give it a list of devices: [\"0000:3b:00.0\", \"0000:3b:00.1\"]");
	if (p->bond.nb_members == 0 && p->bond.primary != NULL)
		return conf_fail(x, conf_node_by_field(x->root, &p->bond.primary, 0),
			"the bond has no members: name them");
	if (p->bond.nb_members == 0 && p->device == NULL)
		return conf_fail_key(x, map, "device",
			"missing, give it text, or several devices as bond.members");
	if (p->bond.nb_members == 0)
		return 0;
	if (p->device != NULL)
		return conf_fail(x, device, "the port has a bond, too: remove one of the two");
	if (asprintf(&p->device, "bond:%s", p->name) < 0) {
		p->device = NULL;
		return conf_fail_memory(x);
	}
	return 0;
}

int conf_bonds_decide(struct conf_ctx *x)
{
	int rc = 0;

	for (uint32_t i = 0; i < x->conf->nb_ports; i++)
		if (resolve_device(x, i) != 0)
			rc = -EINVAL;
	return rc;
}

int conf_bonds_check(struct conf_ctx *x)
{
	int rc = 0;

	for (uint32_t i = 0; i < x->conf->nb_ports; i++)
		if (x->conf->ports[i].bond.nb_members > 0 && check_bond(x, i) != 0)
			rc = -EINVAL;
	return rc;
}
