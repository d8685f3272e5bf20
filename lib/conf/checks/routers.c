// SPDX-License-Identifier: BSD-3-Clause
// Checks the routers of gateways and routes.
#include "checks/checks.h"

#include <errno.h>
#include <string.h>

#include "conf.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"

// True if a router cannot be checked: the network has yet to give some subnet of the port, or has
// named the router itself. The kernel reaches such a router even outside all subnets (the /32 of
// some clouds).
static bool is_taken_on_trust(const struct conf_port *p, const struct addr *a, bool in_file)
{
	if (!conf_learns(p, addr_is_v4(a)))
		return false;
	for (uint32_t i = 0; i < p->nb_addresses; i++)
		if (p->addresses[i].pending)
			return true;
	return !in_file;
}

// True if a router is on-link wherever it is: each address of the port in that family is a subnet
// of its own (/32, /128), as many clouds and hosting providers assign them.
static bool is_on_link(const struct conf_port *p, const struct addr *a)
{
	uint32_t total = 0, lone = 0; // addresses of the family

	// An IPv6 router is most often named by its link-local address, which is on-link anywhere
	// (RFC 4861 section 5.1)
	if (a->b[0] == 0xfe && (a->b[1] & 0xc0) == 0x80)
		return true;
	for (uint32_t i = 0; i < p->nb_addresses; i++) {
		const struct prefix s =
			addr_prefix_at(&p->addresses[i].addr, p->addresses[i].prefix_len);

		if (addr_is_v4(&p->addresses[i].addr) != addr_is_v4(a))
			continue;
		if (addr_prefix_contains(&s, a))
			return true;
		total++;
		lone += s.len == 128;
	}
	return total > 0 && lone == total;
}

// Fails unless a router is another host on a subnet of the port.
static int check_router(struct conf_ctx *x, const struct conf_port *p, const struct addr *a,
	const struct conf_node *n)
{
	char text[ADDR_TEXT_LEN];

	addr_format(a, text, sizeof(text));
	if (is_on_link(p, a) || is_taken_on_trust(p, a, n != NULL))
		return 0;
	return conf_fail(x, n,
		"%s is not on-link: write an address in a subnet of this port (any address is "
		"possible only if all addresses of the port's family are /%u)",
		text, addr_is_v4(a) ? 32 : 128);
}

static int check_route(struct conf_ctx *x, const struct conf_port *p, uint32_t i)
{
	const struct conf_route *r = &p->routes[i];
	const struct conf_node *n = conf_node_by_field(x->root, &r->dst, 0);
	const bool is_v4 = addr_is_v4(&r->via);

	// An IPv6 prefix shorter than 96 bits never looks like an IPv4 address
	if (is_v4 != addr_is_v4(&r->dst.addr))
		return conf_fail(x, conf_node_by_field(x->root, &r->via, 0),
			"is IPv%c, and 'to' is IPv%c: give both one family", is_v4 ? '4' : '6',
			is_v4 ? '6' : '4');
	if (r->dst.len == (is_v4 ? 96 : 0))
		return conf_fail(x, n, "holds all addresses: name the router in ports[].gateway");
	for (uint32_t j = 0; j < i; j++)
		if (p->routes[j].dst.len == r->dst.len &&
			addr_eq(&p->routes[j].dst.addr, &r->dst.addr))
			return conf_fail(x, n, "routes[%u].to is this prefix, too: remove one", j);
	return check_router(x, p, &r->via, conf_node_by_field(x->root, &r->via, 0));
}

static int check_routes(struct conf_ctx *x, const struct conf_port *p)
{
	int rc = 0;

	for (uint32_t i = 0; i < p->nb_routes; i++)
		if (check_route(x, p, i) != 0)
			rc = -EINVAL;
	return rc;
}

static int check_gateways(struct conf_ctx *x, const struct conf_port *p)
{
	for (uint32_t i = 0; i < p->nb_gateways; i++) {
		const struct conf_node *n = conf_node_by_field(x->root, &p->gateways, i);
		const struct addr *g = &p->gateways[i];
		char text[ADDR_TEXT_LEN];

		addr_format(g, text, sizeof(text));
		if (i > 0 && addr_is_v4(g) == addr_is_v4(&p->gateways[0]))
			return conf_fail(x, n,
				"%s is a second IPv%c gateway, and a port has one per family: "
				"remove one",
				text, addr_is_v4(g) ? '4' : '6');
		if (check_router(x, p, g, n) != 0)
			return -EINVAL;
	}
	return 0;
}

int conf_routers_check_port(struct conf_ctx *x, const struct conf_port *p)
{
	const int gateways = check_gateways(x, p), routes = check_routes(x, p);

	return gateways != 0 ? gateways : routes;
}

// True if an address is the broadcast address of a subnet of the port.
static bool is_broadcast(const struct conf_port *p, const struct addr *a)
{
	for (uint32_t i = 0; i < p->nb_addresses; i++) {
		const struct conf_address *address = &p->addresses[i];
		const struct prefix s = addr_prefix_at(&address->addr, address->prefix_len);
		const struct addr_range r = addr_prefix_range(&s);

		if (addr_is_v4(&address->addr) && address->prefix_len < 127 && addr_eq(&r.hi, a))
			return true;
	}
	return false;
}

// Fails if a router is a broadcast address or an address of this box.
static int check_host(struct conf_ctx *x, const struct conf_port *p, const struct addr *a,
	const struct conf_node *n)
{
	char text[ADDR_TEXT_LEN];

	if (is_broadcast(p, a))
		return conf_fail(x, n,
			"%s is the broadcast address of its subnet: write the "
			"router's address",
			addr_format(a, text, sizeof(text)));
	if (conf_ports_own(&x->conf->turn, a))
		return conf_fail(x, n, "%s is an address of this box: write the router's address",
			addr_format(a, text, sizeof(text)));
	return 0;
}

int conf_routers_check_hosts(struct conf_ctx *x, const struct conf_port *p)
{
	int rc = 0;

	for (uint32_t i = 0; i < p->nb_gateways && rc == 0; i++)
		rc = check_host(
			x, p, &p->gateways[i], conf_node_by_field(x->root, &p->gateways, i));
	for (uint32_t i = 0; i < p->nb_routes && rc == 0; i++)
		rc = check_host(
			x, p, &p->routes[i].via, conf_node_by_field(x->root, &p->routes[i].via, 0));
	return rc;
}
