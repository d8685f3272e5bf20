// SPDX-License-Identifier: BSD-3-Clause
// Addresses and ports of both sides, and checks that they fit together.
#include "options/opts_addr.h"

#include <stdlib.h>
#include <string.h>

#include "bytes.h"

#define ADDRS_MAX 65536
#define V4_BITS 96 // bits of the 128-bit form before the IPv4 address
#define SERVER_PORT 3478

// Reads a port number of len characters; 0 if it is not a port.
static uint16_t port_number(const char *text, size_t len)
{
	uint32_t v = 0;

	if (len == 0 || len > 5)
		return 0;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return 0;
		v = v * 10 + (uint32_t)(text[i] - '0');
	}
	return v <= UINT16_MAX ? (uint16_t)v : 0;
}

// Reads an address of len characters; false if it is not an address.
static bool parse_address(const char *text, size_t len, struct addr *out)
{
	char host[ADDR_TEXT_LEN];

	if (len >= sizeof(host))
		return false;
	memcpy(host, text, len);
	host[len] = '\0';
	return addr_parse(host, out) == 0;
}

int opts_addr_server(struct opts *o, const struct opt_row *row, const char *text)
{
	struct endpoint *e = &o->config->server;
	const char *host = text, *port = NULL;
	size_t len = strlen(text);

	if (text[0] == '[') {
		host = text + 1;
		len = strcspn(host, "]");
		port = host[len] == ']' && host[len + 1] == ':' ? host + len + 2 : NULL;
		if (host[len] != ']' || (host[len + 1] != '\0' && port == NULL))
			return option_fail(o, o->now, "write [ADDRESS]:PORT");
	} else if (strchr(text, ':') == strrchr(text, ':') && strchr(text, ':') != NULL) {
		len = strcspn(text, ":");
		port = text + len + 1;
	}
	if (!parse_address(host, len, &e->addr))
		return option_fail(o, o->now, "not an IP address (names are not looked up)");
	o->server_port = port != NULL;
	e->port = port != NULL ? port_number(port, strlen(port)) : SERVER_PORT;
	if (e->port == 0)
		return option_fail(o, o->now, "not a port (1-65535)");
	return 0;
}

static bool is_host(const struct addr *a)
{
	const enum addr_class class = addr_class(a);

	return class == ADDR_UNICAST || class == ADDR_LINK_LOCAL;
}

// Checks that a range is within one link, that its ends can be hosts, and that the generator can
// count it.
static int check_range(struct opts *o, const struct side *s)
{
	const struct addr *lo = &s->addrs.lo, *hi = &s->addrs.hi;
	const struct prefix link = addr_prefix_at(lo, s->prefix_len);
	const struct addr_range all = addr_prefix_range(&link);

	if (!is_host(lo) || !is_host(hi))
		return option_fail(o, o->now, "no address that a host can have");
	if (lo->d[0] != hi->d[0] || lo->w[2] != hi->w[2] ||
		load_be32(&hi->w[3]) - load_be32(&lo->w[3]) >= ADDRS_MAX)
		return option_fail(o, o->now, "%d addresses at most", ADDRS_MAX);
	if (s->prefix_len == 0)
		return 0;
	if (!addr_prefix_contains(&link, hi))
		return option_fail(o, o->now, "the range leaves its subnet");
	// Point-to-point prefixes may use all their addresses (RFC 3021, RFC 6164)
	if (s->prefix_len >= 127)
		return 0;
	if (addr_eq(lo, &all.lo))
		return option_fail(o, o->now, "the first address is the subnet itself");
	if (addr_is_v4(hi) && addr_eq(hi, &all.hi))
		return option_fail(o, o->now, "the last address is the broadcast address");
	return 0;
}

// Reads the number after the slash as a prefix length in the 128-bit form.
static bool prefix_length(const char *text, bool v4, uint8_t *out)
{
	const uint16_t v = port_number(text, strlen(text)); // reads any decimal above 0

	if (v == 0 || v > (v4 ? 128 - V4_BITS : 128))
		return false;
	*out = (uint8_t)(v + (v4 ? V4_BITS : 0));
	return true;
}

int opts_addr_range(struct opts *o, const struct opt_row *row, const char *text)
{
	struct side *s = (struct side *)((char *)o->config + row->offset);
	const size_t run = strcspn(text, "/"), first = strcspn(text, "-/");
	struct addr lo, hi;

	if (!parse_address(text, first, &lo) ||
		(first < run && !parse_address(text + first + 1, run - first - 1, &hi)))
		return option_fail(o, o->now, "not ADDRESS/LENGTH or FROM-TO/LENGTH");
	if (first == run)
		hi = lo;
	s->addrs = (struct addr_range){.lo = lo, .hi = hi};
	s->prefix_len = 0; // not given: peers in another process do not need it
	if (addr_is_v4(&lo) != addr_is_v4(&hi) || addr_cmp(&lo, &hi) > 0)
		return option_fail(
			o, o->now, "FROM-TO: two addresses of one family, in ascending order");
	if (text[run] == '/' && !prefix_length(text + run + 1, addr_is_v4(&lo), &s->prefix_len))
		return option_fail(o, o->now, "not a prefix length: %s", text + run + 1);
	return check_range(o, s);
}

int opts_addr_ports(struct opts *o, const struct opt_row *row, const char *text)
{
	struct side *s = (struct side *)((char *)o->config + row->offset);
	const size_t first = strcspn(text, "-");

	s->port_lo = port_number(text, first);
	s->port_hi = s->port_lo;
	if (text[first] == '-')
		s->port_hi = port_number(text + first + 1, strlen(text + first + 1));
	if (s->port_lo == 0 || s->port_hi == 0)
		return option_fail(o, o->now, "not PORT or FROM-TO (1-65535)");
	if (s->port_lo > s->port_hi)
		return option_fail(o, o->now, "the range begins above its end");
	return 0;
}

int opts_addr_gateway(struct opts *o, const struct opt_row *row, const char *text)
{
	struct addr *a = (struct addr *)((char *)o->config + row->offset);

	if (addr_parse(text, a) != 0 || !is_host(a))
		return option_fail(o, o->now, "not the address of a host");
	return 0;
}

// --- checks of both sides ------------------------------------------------------------------------

static bool on_link(const struct side *s, const struct addr *a)
{
	const struct prefix link = addr_prefix_at(&s->addrs.lo, s->prefix_len);

	// Every IPv6 link also has the link-local prefix
	return addr_prefix_contains(&link, a) ||
		(!addr_is_v4(&s->addrs.lo) && !addr_is_v4(a) && addr_class(a) == ADDR_LINK_LOCAL);
}

static bool has_gateway(const struct side *s)
{
	return (s->gateway.d[0] | s->gateway.d[1]) != 0;
}

// Checks a side in this process: its addresses belong to their link, and so does the gateway.
static int check_own(struct opts *o, const struct side *s, enum opt addrs, enum opt gateway)
{
	const bool kernel = s == &o->config->client && config_links(o->config);
	char text[ADDR_TEXT_LEN];

	if (!option_given(o, addrs))
		return option_fail(
			o, addrs, "needed, with the prefix length of the link: 10.0.0.2/24");
	if (kernel)
		return 0; // the kernel knows its links
	if (s->prefix_len == 0)
		return option_fail(o, addrs, "the prefix length of the link is missing: %s/%d",
			o->text[addrs], addr_is_v4(&s->addrs.lo) ? 24 : 64);
	if (!has_gateway(s))
		return 0;
	if (addr_is_v4(&s->gateway) != addr_is_v4(&s->addrs.lo))
		return option_fail(o, gateway, "its family is not that of the side's addresses");
	if (!on_link(s, &s->gateway))
		return option_fail(o, gateway, "not on the link: it must be in the prefix of %s",
			addr_format(&s->addrs.lo, text, sizeof(text)));
	if (side_has(s, &s->gateway))
		return option_fail(
			o, gateway, "is an address of its own side, so it cannot be the gateway");
	return 0;
}

// Checks that a side can reach an address. id: the option to blame if it cannot.
static int check_way(struct opts *o, const struct side *side, const struct addr *addr, enum opt id)
{
	const enum opt gateway = side == &o->config->client ? OPT_CLIENT_GATEWAY : OPT_PEER_GATEWAY;

	if ((side == &o->config->client && config_links(o->config)) || has_gateway(side) ||
		on_link(side, addr))
		return 0;
	return option_fail(o, id, "not on the link of --%s: give --%s",
		side == &o->config->client ? "client-addr" : "peer-addr",
		option_row(gateway)->name);
}

static int check_server(struct opts *o)
{
	const struct config *c = o->config;

	if (!option_given(o, OPT_SERVER))
		return option_fail(o, OPT_SERVER, "needed: the address of the TURN server");
	if (!is_host(&c->server.addr))
		return option_fail(o, OPT_SERVER, "no address that a host can have");
	if (addr_is_v4(&c->server.addr) != addr_is_v4(&c->client.addrs.lo))
		return option_fail(o, OPT_SERVER, "its family is not that of --client-addr %s",
			o->text[OPT_CLIENT_ADDR]);
	if (side_has(&c->client, &c->server.addr))
		return option_fail(o, OPT_SERVER, "is an address of the clients (--client-addr)");
	if ((c->role & ROLE_PEER) != 0 && side_has(&c->peer, &c->server.addr))
		return option_fail(o, OPT_SERVER, "is an address of the peers (--peer-addr)");
	return check_way(o, &c->client, &c->server.addr, OPT_SERVER);
}

static int check_direct(struct opts *o)
{
	const struct config *c = o->config;

	if (addr_is_v4(&c->client.addrs.lo) != addr_is_v4(&c->peer.addrs.lo))
		return option_fail(o, OPT_PEER_ADDR,
			"its family is not that of --client-addr: only a server joins families");
	if (check_way(o, &c->client, &c->peer.addrs.lo, OPT_PEER_ADDR) != 0)
		return -1;
	if ((c->role & ROLE_PEER) == 0)
		return 0;
	return check_way(o, &c->peer, &c->client.addrs.lo, OPT_CLIENT_ADDR);
}

// Checks that there is an address and port for every client. Clients may share a peer.
static int check_hosts(struct opts *o)
{
	const struct side *s = &o->config->client;

	if (side_hosts(s) >= o->config->clients || config_links(o->config))
		return 0;
	return option_fail(o, OPT_CLIENT_ADDR,
		"%u addresses x %u ports are too few for %u clients: widen it or --client-ports",
		side_addrs(s), s->port_hi - s->port_lo + 1, o->config->clients);
}

// Checks that no transport address is both a client's and a peer's.
static int check_overlap(struct opts *o)
{
	const struct side *c = &o->config->client, *p = &o->config->peer;

	if (addr_cmp(&c->addrs.lo, &p->addrs.hi) > 0 || addr_cmp(&p->addrs.lo, &c->addrs.hi) > 0 ||
		c->port_lo > p->port_hi || p->port_lo > c->port_hi)
		return 0;
	return option_fail(o, OPT_PEER_ADDR,
		"shares addresses with the clients: give others, or other --peer-ports");
}

int opts_addr_check(struct opts *o)
{
	const struct config *c = o->config;

	if ((c->role & ROLE_CLIENT) != 0 &&
		check_own(o, &c->client, OPT_CLIENT_ADDR, OPT_CLIENT_GATEWAY) != 0)
		return -1;
	if ((c->role & ROLE_PEER) != 0 &&
		check_own(o, &c->peer, OPT_PEER_ADDR, OPT_PEER_GATEWAY) != 0)
		return -1;
	if ((c->role & ROLE_CLIENT) == 0)
		return 0;
	if (config_media(c) && !option_given(o, OPT_PEER_ADDR))
		return option_fail(o, OPT_PEER_ADDR, "needed: where the clients' media goes");
	if (c->mode != MODE_DIRECT && check_server(o) != 0)
		return -1;
	if (check_hosts(o) != 0)
		return -1;
	if (!config_media(c))
		return 0;
	if (c->mode == MODE_DIRECT && check_direct(o) != 0)
		return -1;
	return check_overlap(o);
}
