// SPDX-License-Identifier: BSD-3-Clause
// Replaces `dhcp` and `slaac` by the addresses that the network has given. The result equals a
// configuration with these addresses in its file.
#include <errno.h>
#include <stdlib.h>

#include "checks/checks.h"
#include "conf.h"
#include "values/addrs.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"
#include "schema/schema.h"

bool conf_learns(const struct conf_port *p, bool is_v4)
{
	const uint8_t wanted = is_v4 ? CONF_LEARN_DHCP : CONF_LEARN_SLAAC;

	for (uint32_t i = 0; i < p->nb_addresses; i++)
		if (p->addresses[i].learn == wanted)
			return true;
	return false;
}

bool conf_pending(const struct conf *c)
{
	for (uint32_t i = 0; i < c->nb_ports; i++)
		for (uint32_t j = 0; j < c->ports[i].nb_addresses; j++)
			if (c->ports[i].addresses[j].pending)
				return true;
	return false;
}

// Replaces a placeholder address in the listeners and relay addresses that `all` expanded to.
static void replace_addr(struct turn_config *t, const struct addr *old, const struct addr *new)
{
	for (uint32_t i = 0; i < t->nb_listeners; i++)
		if (addr_eq(&t->listeners[i].endpoint.addr, old))
			t->listeners[i].endpoint.addr = *new;
	for (uint32_t i = 0; i < t->nb_relay; i++)
		if (addr_eq(&t->relay[i], old))
			t->relay[i] = *new;
}

static int add_gateway(
	struct conf_ctx *x, struct conf_port *p, const struct addr *gateway, bool is_v4)
{
	static const struct addr none;
	struct addr *grown;

	for (uint32_t i = 0; i < p->nb_gateways; i++)
		if (addr_is_v4(&p->gateways[i]) == is_v4)
			return 0;
	p->gateway_learned[is_v4] = true;
	if (addr_eq(gateway, &none))
		return 0;
	grown = realloc(p->gateways, (p->nb_gateways + (size_t)1) * sizeof(*grown));
	if (grown == NULL)
		return conf_fail_memory(x);
	p->gateways = grown;
	p->gateways[p->nb_gateways++] = *gateway;
	return 0;
}

static int put_learned(struct conf_ctx *x, const struct conf_learned *l)
{
	struct conf_port *p = &x->conf->ports[l->port];
	struct conf_address *a = &p->addresses[l->index];
	const struct conf_node *n = conf_node_by_field(x->root, &p->addresses, l->index);
	const char *class = conf_addrs_class(&l->addr);
	char text[ADDR_TEXT_LEN];

	if (class != NULL)
		return conf_fail(x, n, "the network has given %s, which is %s: no port can have it",
			addr_format(&l->addr, text, sizeof(text)), class);
	replace_addr(&x->conf->turn, &a->addr, &l->addr);
	a->addr = l->addr;
	a->prefix_len = l->prefix_len;
	a->pending = false;
	return add_gateway(x, p, &l->gateway, addr_is_v4(&l->addr));
}

static void gather_anew(struct turn_config *t)
{
	free(t->local);
	free(t->gateways);
	free(t->routes);
	t->local = NULL;
	t->gateways = NULL;
	t->routes = NULL;
	t->nb_local = t->nb_gateways = t->nb_routes = 0;
}

int conf_resolve(struct conf *c, const struct conf_learned *list, uint32_t nb,
	struct conf_report *r, char error[CONF_ERROR_LEN])
{
	struct conf_ctx x = {.path = c->path,
		.error = error,
		.keys = &conf_file_keys,
		.report = r,
		.root = c->root,
		.conf = c};
	int rc = 0;

	for (uint32_t i = 0; i < nb; i++)
		if (put_learned(&x, &list[i]) != 0)
			rc = -EINVAL;
	gather_anew(&c->turn);
	if (rc == 0)
		rc = conf_validate(&x);
	if (rc == 0 && r != NULL)
		conf_reach_all(c, r);
	return rc;
}
