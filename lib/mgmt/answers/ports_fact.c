// SPDX-License-Identifier: BSD-3-Clause
// The command ports: links, queues and counters of the ports, and on request the counters of their
// drivers.
#include <stdio.h>
#include <stdlib.h>

#include <rte_ethdev.h>

#include "link/bonds.h"
#include "socket/commands.h"
#include "answers/facts.h"
#include "answers/shown.h"

#define XSTATS_MAX 1024

// Counters of the driver that are not 0.
static json_t *read_xstats(const struct port *p)
{
	const int n = rte_eth_xstats_get(p->dpdk_id, NULL, 0);
	struct rte_eth_xstat *value;
	struct rte_eth_xstat_name *name;
	json_t *o = json_object();

	if (n <= 0 || n > XSTATS_MAX)
		return o;
	value = calloc((size_t)n, sizeof(*value));
	name = calloc((size_t)n, sizeof(*name));
	if (value != NULL && name != NULL &&
		rte_eth_xstats_get_names(p->dpdk_id, name, (unsigned int)n) == n &&
		rte_eth_xstats_get(p->dpdk_id, value, (unsigned int)n) == n)
		for (int i = 0; i < n; i++)
			if (value[i].value != 0 && value[i].id < (uint64_t)n)
				json_object_set_new(
					o, name[value[i].id].name, shown_number(value[i].value));
	free(value);
	free(name);
	return o;
}

static void add_counters(json_t *o, struct port *p)
{
	struct port_counters k;

	p->ops->counters(p, &k);
#define F(field, ...) json_object_set_new(o, #field, shown_number(k.field));
	PORT_COUNTERS(F)
#undef F
}

static json_t *port_row(struct port *p, bool wants_xstats)
{
	json_t *o = json_object();
	char text[128];

	json_object_set_new(o, "port", shown_text(p->name));
	json_object_set_new(o, "link", json_string(p->ops->link(p) ? "up" : "down"));
	json_object_set_new(o, "kind", json_string(p->ops->kind));
	json_object_set_new(o, "driver", json_string(p->driver));
	snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", p->mac[0], p->mac[1],
		p->mac[2], p->mac[3], p->mac[4], p->mac[5]);
	json_object_set_new(o, "mac", json_string(text));
	json_object_set_new(o, "mtu", shown_number(p->mtu));
	if (p->vlan != 0)
		json_object_set_new(o, "vlan", shown_number(p->vlan));
	if (p->on != NULL)
		json_object_set_new(o, "on", shown_text(p->on->name));
	json_object_set_new(o, "rx_queues", shown_number(p->nb_rxq));
	json_object_set_new(o, "tx_queues", shown_number(p->nb_txq));
	json_object_set_new(o, "rss", json_boolean(p->rss));
	json_object_set_new(o, "offloads", json_string(port_offloads(p, text, sizeof(text))));
	if (p->ops->members != NULL)
		json_object_set_new(
			o, "members", json_string(mgmt_bonds_text(p, text, sizeof(text))));
	add_counters(o, p);
	if (wants_xstats && p->dpdk_id < RTE_MAX_ETHPORTS)
		json_object_set_new(o, "xstats", read_xstats(p));
	return o;
}

enum command_end facts_ports(struct command *c)
{
	const bool wants_xstats = json_is_true(json_object_get(c->in, "xstats"));
	json_t *rows = json_array();

	for (unsigned int i = 0; i < dp_ports(c->control->dp); i++)
		json_array_append_new(rows, port_row(dp_port(c->control->dp, i), wants_xstats));
	json_object_set_new(c->out, "rows", rows);
	return COMMAND_DONE;
}
