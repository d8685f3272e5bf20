// SPDX-License-Identifier: BSD-3-Clause
// Checks entries of ports[].addresses whose address the network gives.
#include "checks/checks.h"

#include <errno.h>
#include <string.h>

#include "conf.h"
#include "devices/packet_spec.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"

static const char *const words[] = {[CONF_LEARN_DHCP] = "dhcp", [CONF_LEARN_SLAAC] = "slaac"};

// Returns 0.PORT.INDEX or ::1.PORT.INDEX, with an index of 16 bits: see conf_addrs_nobodys.
static struct addr stand_in(uint8_t learn, uint32_t port, uint32_t index)
{
	uint8_t b[4] = {0, (uint8_t)(port + 1), (uint8_t)(index >> 8), (uint8_t)index};
	struct addr v6 = {.b = {0}};

	if (learn == CONF_LEARN_DHCP)
		return addr_from_v4(b);
	b[0] = 1; // neither :: nor ::1
	memcpy(v6.b + 12, b, sizeof(b));
	return v6;
}

void conf_learns_stand_in(struct conf *c)
{
	for (uint32_t i = 0; i < c->nb_ports; i++) {
		for (uint32_t j = 0; j < c->ports[i].nb_addresses; j++) {
			struct conf_address *a = &c->ports[i].addresses[j];

			if (a->pending)
				a->addr = stand_in(a->learn, i, j);
		}
	}
}

int conf_learns_check(struct conf_ctx *x, uint32_t port)
{
	const struct conf_port *p = &x->conf->ports[port];
	bool seen[CONF_LEARN_SLAAC + 1] = {false};

	for (uint32_t i = 0; i < p->nb_addresses; i++) {
		const uint8_t learn = p->addresses[i].learn;
		const struct conf_node *n = conf_node_by_field(x->root, &p->addresses, i);

		if (learn == CONF_LEARN_NONE)
			continue;
		if (seen[learn])
			return conf_fail(
				x, n, "a port has one '%s': remove the second", words[learn]);
		seen[learn] = true;
		if (p->exception.name == NULL &&
			(p->shares || !packet_spec_is(conf_port_device(p, 0))))
			return conf_fail(x, n,
				"'%s' takes the address of the port's kernel interface, which is "
				"missing: add exception: {name: sr0} to the port%s",
				words[learn],
				learn == CONF_LEARN_DHCP ? ", and run a DHCP client on sr0" : "");
	}
	return 0;
}
