// SPDX-License-Identifier: BSD-3-Clause
// Checks packet ports. The kernel keeps the interface, with its VLANs, addresses and TCP.
#include "checks/checks.h"

#include <errno.h>
#include <string.h>

#include "conf.h"
#include "devices/packet_spec.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"

static bool shares_interface(const struct conf_port *p)
{
	return !p->shares && p->bond.nb_members == 0 && packet_spec_is(p->device);
}

// Fails if an earlier port uses the interface.
static int check_interface(struct conf_ctx *x, uint32_t port, const struct packet_spec *this)
{
	const struct conf_port *p = x->conf->ports;
	struct packet_spec earlier;
	char reason[160];

	for (uint32_t i = 0; i < port; i++)
		if (shares_interface(&p[i]) &&
			packet_spec_parse(p[i].device, &earlier, reason, sizeof(reason)) &&
			strcmp(this->name, earlier.name) == 0)
			return conf_fail(x, conf_node_by_field(x->root, &p[port].device, 0),
				"port '%s' has the interface %s, too: give all addresses to one "
				"port",
				p[i].name, this->name);
	return 0;
}

static int check_vlans(struct conf_ctx *x, uint32_t port, const char *name)
{
	const struct conf_port *p = x->conf->ports;

	if (p[port].vlan != 0)
		return conf_fail(x, conf_node_by_field(x->root, &p[port].vlan, 0),
			"the kernel handles the VLANs of %s: write the VLAN's interface, like "
			"packet:%s.%u, and remove the key",
			name, name, p[port].vlan);
	for (uint32_t i = 0; i < x->conf->nb_ports; i++)
		if (p[i].shares && p[i].on == port)
			return conf_fail(x, conf_node_by_field(x->root, &p[i].vlan, 0),
				"the kernel handles the VLANs of %s: make this a separate port "
				"with device: packet:%s.%u",
				name, name, p[i].vlan);
	return 0;
}

static int check_port(struct conf_ctx *x, uint32_t port)
{
	const struct conf_port *p = &x->conf->ports[port];
	struct packet_spec spec;
	char reason[160];

	if (!packet_spec_parse(p->device, &spec, reason, sizeof(reason)))
		return conf_fail(x, conf_node_by_field(x->root, &p->device, 0), "%s", reason);
	if (p->exception.name != NULL)
		return conf_fail(x, conf_node_by_field(x->root, &p->exception.name, 0),
			"the kernel has %s, and its packets that slipring does not take: remove "
			"the exception port",
			spec.name);
	if (check_interface(x, port, &spec) != 0)
		return -EINVAL;
	return check_vlans(x, port, spec.name);
}

int conf_packets_check(struct conf_ctx *x)
{
	int rc = 0;

	for (uint32_t i = 0; i < x->conf->nb_ports; i++)
		if (shares_interface(&x->conf->ports[i]) && check_port(x, i) != 0)
			rc = -EINVAL;
	return rc;
}
