// SPDX-License-Identifier: BSD-3-Clause
// Checks exception ports, and that TCP listeners have one where they need it.
#include "checks/checks.h"

#include <errno.h>
#include <string.h>

#include "conf.h"
#include "devices/packet_spec.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"
#include "devices/vtap_spec.h"

static bool same_netns(const char *a, const char *b)
{
	return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

static const struct conf_node *section_of(const struct conf_ctx *x, uint32_t port)
{
	const struct conf_node *n = conf_node_by_field(x->root, &x->conf->ports, port);

	for (n = n != NULL ? n->child : NULL; n != NULL; n = n->next)
		if (strcmp(n->key, "exception") == 0)
			return n;
	return NULL;
}

// Fails if two interfaces have the same name in the same namespace. Exception ports and vtap ports
// both count.
static int check_name(struct conf_ctx *x, uint32_t port)
{
	const struct conf_port *p = x->conf->ports;
	const struct conf_exception *e = &p[port].exception;
	const struct conf_node *n = conf_node_by_field(x->root, &e->name, 0);

	if (strcmp(e->name, ".") == 0 || strcmp(e->name, "..") == 0)
		return conf_fail(
			x, n, "'%s' cannot be the name of an interface: choose another", e->name);
	for (uint32_t i = 0; i < x->conf->nb_ports; i++) {
		struct vtap_spec spec;
		char reason[160];

		if (vtap_spec_is(p[i].device) &&
			vtap_spec_parse(p[i].device, &spec, reason, sizeof(reason)) &&
			strcmp(spec.name, e->name) == 0 && same_netns(spec.netns, e->netns))
			return conf_fail(x, n,
				"port '%s' is a vtap with this interface name: choose another",
				p[i].name);
		if (i < port && p[i].exception.name != NULL &&
			strcmp(p[i].exception.name, e->name) == 0 &&
			same_netns(p[i].exception.netns, e->netns))
			return conf_fail(x, n,
				"the exception port of port '%s' has this name: choose another",
				p[i].name);
	}
	return 0;
}

static int check_one(struct conf_ctx *x, uint32_t port)
{
	const struct conf_exception *e = &x->conf->ports[port].exception;
	const struct conf_node *section = section_of(x, port);

	if (e->name == NULL && section != NULL && section->child != NULL)
		return conf_fail_key(
			x, section, "name", "missing, name the interface of the kernel, like sr0");
	if (e->name == NULL)
		return 0;
	if (e->device != NULL && vtap_spec_is(e->device))
		return conf_fail(x, conf_node_by_field(x->root, &e->device, 0),
			"without this key the exception port is a vtap: remove it");
	if (e->device != NULL && e->netns != NULL)
		return conf_fail(x, conf_node_by_field(x->root, &e->netns, 0),
			"a DPDK device makes its interface in the namespace of the process: "
			"remove netns, or the device");
	return check_name(x, port);
}

// TCP listeners are kernel sockets. The kernel has the address of a port only through an exception
// port, or on an interface that the port shares with it.
int conf_exceptions_stream(struct conf_ctx *x, const struct addr *a, const struct conf_node *n)
{
	const struct conf_port *p = conf_port_find(x->conf, a);

	if (p == NULL)
		return 0;
	if (!p->shares && packet_spec_is(conf_port_device(p, 0)))
		return x->conf->streams.netns == NULL
			? 0
			: conf_fail(x, n,
				  "port '%s' shares this address with the kernel in the namespace "
				  "of the process: remove streams.netns",
				  p->name);
	if (p->exception.name == NULL)
		return conf_fail(x, n,
			"TCP needs this address in the kernel, and port '%s' has no exception "
			"port for it: add exception: {name: sr0} to the port",
			p->name);
	if (!same_netns(p->exception.netns, x->conf->streams.netns))
		return conf_fail(x, n,
			"port '%s' gives the kernel this address in namespace '%s', and "
			"streams.netns is '%s': make them the same",
			p->name, p->exception.netns != NULL ? p->exception.netns : "",
			x->conf->streams.netns != NULL ? x->conf->streams.netns : "");
	return 0;
}

int conf_exceptions_check(struct conf_ctx *x)
{
	int rc = 0;

	for (uint32_t i = 0; i < x->conf->nb_ports; i++)
		if (check_one(x, i) != 0)
			rc = -EINVAL;
	for (uint32_t i = 0; i < x->conf->turn.nb_listeners; i++) {
		const struct turn_listener *l = &x->conf->turn.listeners[i];

		if (turn_listener_is_stream(l) &&
			conf_exceptions_stream(x, &l->endpoint.addr,
				conf_node_by_field(x->root, &l->endpoint.addr, 0)) != 0)
			rc = -EINVAL;
	}
	return rc;
}
