// SPDX-License-Identifier: BSD-3-Clause
// The kernel's traffic that an exception port carries, and the checks of exception ports.
#include "conf_int.h"
#include "vtap_spec.h"

#include <errno.h>
#include <netinet/in.h>

// --- services ------------------------------------------------------------------------------------

static const struct {
	const char *word;
	uint8_t proto;
	bool away;
} words[] = {
	{"tcp", IPPROTO_TCP, false},
	{"tcp-to", IPPROTO_TCP, true},
	{"udp", IPPROTO_UDP, false},
	{"udp-to", IPPROTO_UDP, true},
	{"icmp", IPPROTO_ICMP, false},
	{"icmp-to", IPPROTO_ICMP, true},
};
#define NB_WORDS (sizeof(words) / sizeof(words[0]))

int conf_read_services(
	struct conf_ctx *x, const struct conf_key *k, struct conf_node *n, void *base)
{
	const size_t len = strcspn(n->text, "/");
	const char *port = n->text[len] == '/' ? n->text + len + 1 : NULL;
	struct conf_service *out;
	char shown[CONF_SHOWN_LEN];
	uint32_t value = 0;
	size_t i = 0;

	while (i < NB_WORDS &&
		(strlen(words[i].word) != len || strncmp(words[i].word, n->text, len) != 0))
		i++;
	if (i == NB_WORDS)
		return conf_fail(x, n,
			"'%s' is none of: tcp/PORT, tcp-to/PORT, udp/PORT, udp-to/PORT, icmp, "
			"icmp-to",
			conf_shown(n, shown));
	if (words[i].proto == IPPROTO_ICMP && port != NULL)
		return conf_fail(x, n, "ICMP has no ports: write %s", words[i].word);
	if (words[i].proto != IPPROTO_ICMP && port == NULL)
		return conf_fail(x, n, "lacks its port: write %s/PORT", words[i].word);
	if (port != NULL &&
		(!conf_parse_decimal(port, strlen(port), &value) || value == 0 ||
			value > UINT16_MAX))
		return conf_fail(x, n, "'%s' has no port from 1 to 65535 behind the '/'",
			conf_shown(n, shown));
	out = conf_list_grow(x, k, n, base, 1);
	if (out == NULL)
		return -EINVAL;
	*out = (struct conf_service){words[i].proto, words[i].away, (uint16_t)value};
	return 0;
}

// --- checks --------------------------------------------------------------------------------------

static bool same(const char *a, const char *b)
{
	return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

static const struct conf_node *section_of(const struct conf_ctx *x, uint32_t port)
{
	const struct conf_node *n = conf_node_of(x->root, &x->conf->ports, port);

	for (n = n != NULL ? n->child : NULL; n != NULL; n = n->next)
		if (strcmp(n->key, "exception") == 0)
			return n;
	return NULL;
}

// Fails when two interfaces have one name in one namespace. Both exception ports and vtap ports
// count.
static int check_name(struct conf_ctx *x, uint32_t port)
{
	const struct conf_port *p = x->conf->ports;
	const struct conf_exception *e = &p[port].exception;
	const struct conf_node *n = conf_node_of(x->root, &e->name, 0);

	if (strcmp(e->name, ".") == 0 || strcmp(e->name, "..") == 0)
		return conf_fail(x, n, "'%s' is no name of an interface: choose another", e->name);
	for (uint32_t i = 0; i < x->conf->nb_ports; i++) {
		struct vtap_spec spec;
		char reason[160];

		if (vtap_spec_is(p[i].device) &&
			vtap_spec_parse(p[i].device, &spec, reason, sizeof(reason)) &&
			strcmp(spec.name, e->name) == 0 && same(spec.netns, e->netns))
			return conf_fail(x, n,
				"port '%s' is a vtap with this interface: choose another name",
				p[i].name);
		if (i < port && p[i].exception.name != NULL &&
			strcmp(p[i].exception.name, e->name) == 0 &&
			same(p[i].exception.netns, e->netns))
			return conf_fail(x, n,
				"port '%s' has an exception port of this name: give each its own",
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
		return conf_fail(x, conf_node_of(x->root, &e->device, 0),
			"a vtap is what there is without this key: remove it");
	if (e->device != NULL && e->netns != NULL)
		return conf_fail(x, conf_node_of(x->root, &e->netns, 0),
			"a device of DPDK makes its interface in the namespace of the process: "
			"remove netns, or the device");
	return check_name(x, port);
}

static const struct conf_port *port_of(const struct conf *c, const struct addr *a)
{
	for (uint32_t i = 0; i < c->nb_ports; i++)
		for (uint32_t j = 0; j < c->ports[i].nb_addresses; j++)
			if (addr_eq(&c->ports[i].addresses[j].addr, a))
				return &c->ports[i];
	return NULL;
}

// TCP is the kernel's. The kernel has the address of a port only through an exception port.
static int check_stream(struct conf_ctx *x, const struct turn_listener *l)
{
	const struct conf_port *p = port_of(x->conf, &l->at.addr);
	const struct conf_node *n = conf_node_of(x->root, &l->at.addr, 0);

	if (!turn_listener_is_stream(l) || p == NULL)
		return 0;
	if (p->exception.name == NULL)
		return conf_fail(x, n,
			"TCP is the kernel's, and port '%s' has no exception port that gives it "
			"this address: add exception: {name: sr0} to the port",
			p->name);
	if (!same(p->exception.netns, x->conf->streams.netns))
		return conf_fail(x, n,
			"port '%s' gives the kernel this address in namespace '%s', and "
			"streams.netns is '%s': make them the same",
			p->name, p->exception.netns != NULL ? p->exception.netns : "",
			x->conf->streams.netns != NULL ? x->conf->streams.netns : "");
	return 0;
}

int conf_validate_exceptions(struct conf_ctx *x)
{
	int rc = 0;

	for (uint32_t i = 0; i < x->conf->nb_ports; i++)
		if (check_one(x, i) != 0)
			rc = -EINVAL;
	for (uint32_t i = 0; i < x->conf->turn.nb_listeners; i++)
		if (check_stream(x, &x->conf->turn.listeners[i]) != 0)
			rc = -EINVAL;
	return rc;
}
