// SPDX-License-Identifier: BSD-3-Clause
// Checks interfaces that slipring shares with the kernel: addresses must be the kernel's, and each
// side needs separate UDP ports.
#include "check_packet.h"

#include <ifaddrs.h>
#include <inttypes.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "check_range.h"
#include "devices/packet_spec.h"
#include "link/kernel_ports.h"
#include "packet/ingress.h"

#define AT(c, f, k) ((struct conf_at){c, &(c)->f, 0, k})

// --- addresses -----------------------------------------------------------------------------------

static bool has_address(const struct ifaddrs *list, const char *name, const struct addr *a)
{
	for (; list != NULL; list = list->ifa_next) {
		const struct sockaddr *s = list->ifa_addr;
		struct addr local;

		if (s == NULL || strcmp(list->ifa_name, name) != 0 ||
			(s->sa_family != AF_INET && s->sa_family != AF_INET6))
			continue;
		local = s->sa_family == AF_INET
			? addr_from_v4(&((const struct sockaddr_in *)(const void *)s)->sin_addr)
			: addr_from_v6(&((const struct sockaddr_in6 *)(const void *)s)->sin6_addr);
		if (addr_eq(&local, a))
			return true;
	}
	return false;
}

static void check_addresses(
	const struct conf *c, uint32_t port, const char *name, struct conf_report *r)
{
	const struct conf_port *p = &c->ports[port];
	char text[ADDR_TEXT_LEN];
	struct ifaddrs *list;

	if (getifaddrs(&list) != 0)
		return;
	for (uint32_t i = 0; i < p->nb_addresses; i++)
		if (!p->addresses[i].pending && !has_address(list, name, &p->addresses[i].addr))
			conf_tell(r, CONF_WARNING, AT(c, ports[port].addresses, "ports"),
				"%s is not on interface %s (yet), so nobody answers ARP or ND: "
				"add it there (`ip addr add %s/%u dev %s`)",
				addr_format(&p->addresses[i].addr, text, sizeof(text)), name, text,
				p->addresses[i].prefix_len -
					(addr_is_v4(&p->addresses[i].addr) ? 96 : 0),
				name);
	freeifaddrs(list);
}

// --- other BPF programs --------------------------------------------------------------------------

static void check_ingress(
	const struct conf *c, uint32_t port, const char *name, struct conf_report *r)
{
	char names[160];

	if (port_ingress_others(name, names, sizeof(names)) > 0)
		conf_tell(r, CONF_WARNING, AT(c, ports[port].device, "ports"),
			"there are other programs at the ingress of %s (%s): ours runs first, so "
			"that they neither see nor judge our UDP datagrams (see `bpftool net`)",
			name, names);
}

// --- UDP ports of other programs -----------------------------------------------------------------

static bool is_relay_port(const struct turn_config *t, unsigned int port)
{
	return t->nb_relay > 0 && port >= t->port_lo && port <= t->port_hi;
}

static bool is_listener_port(const struct turn_config *t, unsigned int port)
{
	for (uint32_t i = 0; i < t->nb_listeners; i++)
		if (!turn_listener_is_stream(&t->listeners[i]) &&
			t->listeners[i].endpoint.port == port)
			return true;
	return false;
}

// Parses a line of /proc/net/udp: "123: 00000000:0035 00000000:0000 07 ...". A packet port takes
// nothing from sockets on loopback addresses.
static bool read_socket(const char *line, unsigned int *port, bool *loopback)
{
	char address[33];

	if (sscanf(line, " %*u: %32[0-9A-Fa-f]:%4x", address, port) != 2)
		return false;
	*loopback = (strlen(address) == 8 && strcmp(address + 6, "7F") == 0) ||
		strcmp(address, "00000000000000000000000001000000") == 0;
	return true;
}

static void check_sockets(
	const struct conf *c, const char *net, const char *name, struct conf_report *r)
{
	char path[PATH_MAX], line[512];
	unsigned int port, last = 0;
	bool loopback;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", net, name);
	f = fopen(path, "re");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		// warn once of a program with many sockets on one port, and once for both families
		if (!read_socket(line, &port, &loopback) || loopback || port == last)
			continue;
		last = port;
		if (is_relay_port(&c->turn, port))
			conf_tell(r, CONF_WARNING, AT(c, turn.port_lo, "relay.ports"),
				"a program or tunnel of this machine uses UDP port %u, and gets "
				"nothing there: see `ss -ulnp`, and choose other relay ports",
				port);
		else if (is_listener_port(&c->turn, port))
			conf_tell(r, CONF_WARNING, AT(c, turn.listeners, "listeners"),
				"a program of this machine uses UDP port %u, and gets nothing "
				"there: see `ss -ulnp`",
				port);
	}
	if (f != NULL)
		fclose(f);
}

// --- all -----------------------------------------------------------------------------------------

static void check_interface(
	const struct conf *c, uint32_t port, const char *name, struct conf_report *r)
{
	check_addresses(c, port, name, r);
	check_ingress(c, port, name, r);
}

void check_packets(const struct conf *c, const char *sysctl, const char *net, struct conf_report *r)
{
	bool any = false;

	for (uint32_t i = 0; i < c->nb_ports; i++) {
		struct packet_spec spec;
		char reason[160];

		if (!kernel_ports_shared(&c->ports[i]) ||
			!packet_spec_parse(c->ports[i].device, &spec, reason, sizeof(reason)))
			continue;
		any = true;
		if (if_nametoindex(spec.name) == 0)
			conf_tell(r, CONF_WARNING, AT(c, ports[i].device, "ports"),
				"there is no interface %s (yet): see `ip link`", spec.name);
		else
			check_interface(c, i, spec.name, r);
	}
	if (!any)
		return;
	check_range(c, sysctl, r);
	check_sockets(c, net, "udp", r);
	check_sockets(c, net, "udp6", r);
}
