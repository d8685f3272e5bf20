// SPDX-License-Identifier: BSD-3-Clause
// Checks this box's addresses: each is given once, external addresses are not among them, and
// listeners and relay addresses are.
#include "checks/checks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "values/addrs.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"

// An address, and its place in the file.
struct owned {
	struct addr addr;
	const void *field;
	uint32_t index; // element of the field
	uint32_t order; // position in the file
};

static int owned_cmp(const void *a, const void *b)
{
	const struct owned *l = a, *r = b;
	const int diff = addr_cmp(&l->addr, &r->addr);

	return diff != 0 ? diff : (l->order > r->order) - (l->order < r->order);
}

static const struct conf_node *node_of(const struct conf_ctx *x, const struct owned *o)
{
	return conf_node_by_field(x->root, o->field, o->index);
}

// Sorts the addresses. Fails on the first address in the file that repeats an earlier one.
static int check_distinct(struct conf_ctx *x, struct owned *o, uint32_t nb)
{
	const struct owned *twin = NULL;
	char text[ADDR_TEXT_LEN];

	qsort(o, nb, sizeof(*o), owned_cmp);
	for (uint32_t i = 1; i < nb; i++) {
		if (addr_eq(&o[i].addr, &o[i - 1].addr) &&
			(twin == NULL || o[i].order < twin->order))
			twin = &o[i];
	}
	if (twin == NULL)
		return 0;
	return conf_fail(x, node_of(x, twin), "%s is given twice, first at line %u: remove one",
		addr_format(&twin->addr, text, sizeof(text)), node_of(x, twin - 1)->line);
}

static bool is_owned(const struct owned *o, uint32_t nb, const struct addr *a)
{
	uint32_t lo = 0, hi = nb;

	while (lo < hi) {
		const uint32_t mid = lo + (hi - lo) / 2;
		const int diff = addr_cmp(&o[mid].addr, a);

		if (diff == 0)
			return true;
		if (diff < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}

// Listeners and relay addresses must be on a port: they are source addresses of packets, and the
// source address decides the port.
static int check_on_port(struct conf_ctx *x, const struct owned *owned, const struct addr *a,
	const struct conf_node *n)
{
	char text[ADDR_TEXT_LEN];

	if (is_owned(owned, x->conf->turn.nb_local, a))
		return 0;
	addr_format(a, text, sizeof(text));
	for (uint32_t i = 0; i < x->conf->turn.nb_local; i++) {
		const struct turn_local *l = &x->conf->turn.local[i];
		char inside[ADDR_TEXT_LEN];

		if (addr_eq(&l->external, a) && conf_addrs_nobodys(&l->addr))
			return conf_fail(x, n,
				"%s is the external address of an address that the network gives: "
				"write 'all' here",
				text);
		if (addr_eq(&l->external, a))
			return conf_fail(x, n, "%s is the external address of %s: write %s here",
				text, addr_format(&l->addr, inside, sizeof(inside)), inside);
	}
	return conf_fail(x, n,
		"%s is not an address of any port: add it to ports[].addresses, or, if the "
		"network translates to it, as 'external' of the port's own address",
		text);
}

// Returns the entry of the file that a listener comes from.
static const struct conf_node *entry_of(const struct conf_ctx *x, const struct turn_listener *l)
{
	const struct turn_config *t = &x->conf->turn;

	return conf_node_by_field(x->root, &t->listeners, (uint32_t)(l - t->listeners));
}

static bool over_udp(const struct turn_listener *l)
{
	return !turn_listener_is_stream(l);
}

// Fails if two listeners with the same address and port cannot be told apart. The kernel separates
// TCP from UDP, and the first byte of a datagram separates plain TURN from DTLS. No other pair
// works.
static int check_pair(
	struct conf_ctx *x, const struct turn_listener *l, const struct turn_listener *earlier)
{
	if (!endpoint_eq(&l->endpoint, &earlier->endpoint) || over_udp(l) != over_udp(earlier) ||
		(over_udp(l) && l->transport != earlier->transport))
		return 0;
	return conf_fail(x, entry_of(x, l),
		l->transport == earlier->transport
			? "listeners[%u] has this transport, address and port: remove one"
			: "listeners[%u] has this TCP port: give one entry transport: auto and "
			  "remove the other",
		entry_of(x, earlier)->index);
}

static bool is_any_v4(const struct addr *a)
{
	static const uint8_t zero[4];

	return addr_is_v4(a) && memcmp(a->b + 12, zero, sizeof(zero)) == 0;
}

static int check_wildcard(struct conf_ctx *x, const struct turn_listener *l)
{
	static const struct addr any;
	char text[ADDR_TEXT_LEN];

	if (!addr_eq(&l->endpoint.addr, &any) && !is_any_v4(&l->endpoint.addr))
		return 0;
	return conf_fail(x, conf_node_by_field(x->root, &l->endpoint.addr, 0),
		"%s cannot be the address of a listener: write 'all' for all addresses of the "
		"ports",
		addr_format(&l->endpoint.addr, text, sizeof(text)));
}

static int check_listener(struct conf_ctx *x, const struct owned *owned, uint32_t i)
{
	const struct turn_config *t = &x->conf->turn;
	const struct turn_listener *l = &t->listeners[i];
	int rc = check_wildcard(x, l);

	if (rc == 0)
		rc = conf_identities_check_listener(x, i);
	if (rc == 0)
		rc = conf_proxies_check_listener(x, i);
	// for TCP, the kernel reports whether it has the address
	if (rc == 0 && over_udp(l))
		rc = check_on_port(x, owned, &l->endpoint.addr,
			conf_node_by_field(x->root, &l->endpoint.addr, 0));
	for (uint32_t j = 0; j < i && rc == 0; j++)
		rc = check_pair(x, l, &t->listeners[j]);
	return rc;
}

static int check_listeners(struct conf_ctx *x, const struct owned *owned)
{
	int rc = conf_proxies_check_trusted(x);

	for (uint32_t i = 0; i < x->conf->turn.nb_listeners; i++)
		if (check_listener(x, owned, i) != 0)
			rc = -EINVAL;
	return rc;
}

// Checks that listeners leave at least one port of the relay range.
static int check_relay_ports(struct conf_ctx *x)
{
	const struct turn_config *t = &x->conf->turn;
	const uint32_t range = (uint32_t)t->port_hi - t->port_lo + 1;
	const struct conf_node *n = conf_node_by_field(x->root, &t->port_lo, 0);

	// There are at most 255 listeners
	for (uint32_t i = 0; i < t->nb_relay && range <= t->nb_listeners; i++) {
		char text[ADDR_TEXT_LEN];

		if (conf_relay_left(t, &t->relay[i]) == 0)
			return conf_fail(x, n,
				"listeners take every port of the range on %s: make it larger",
				conf_addrs_nobodys(&t->relay[i])
					? "the address that the network gives"
					: addr_format(&t->relay[i], text, sizeof(text)));
	}
	return 0;
}

static int check_relay(struct conf_ctx *x, const struct owned *owned)
{
	const struct turn_config *t = &x->conf->turn;
	struct owned *relay = calloc((size_t)t->nb_relay + 1, sizeof(*relay));
	int rc = 0;

	if (relay == NULL)
		return conf_fail_memory(x);
	for (uint32_t i = 0; i < t->nb_relay && rc == 0; i++) {
		relay[i] = (struct owned){t->relay[i], &t->relay, i, i};
		if (!is_owned(owned, t->nb_local, &t->relay[i]))
			rc = check_on_port(x, owned, &t->relay[i], node_of(x, &relay[i]));
	}
	if (rc == 0)
		rc = check_distinct(x, relay, t->nb_relay);
	free(relay);
	return rc != 0 ? rc : check_relay_ports(x);
}

static bool is_router(const struct turn_config *t, const struct addr *a)
{
	for (uint32_t i = 0; i < t->nb_gateways; i++)
		if (addr_eq(&t->gateways[i], a))
			return true;
	return false;
}

// An external address belongs to one address of this box, and is not itself an address of this box.
static int check_externals(struct conf_ctx *x, const struct owned *owned)
{
	static const struct addr none;
	const struct conf *c = x->conf;
	struct owned *external = calloc(c->turn.nb_local, sizeof(*external));
	char text[ADDR_TEXT_LEN];
	uint32_t nb = 0;
	int rc = 0;

	if (external == NULL)
		return conf_fail_memory(x);
	for (uint32_t i = 0; i < c->nb_ports; i++) {
		const struct conf_port *p = &c->ports[i];

		for (uint32_t j = 0; j < p->nb_addresses; j++) {
			const struct addr *a = &p->addresses[j].external;

			if (addr_eq(a, &none))
				continue;
			external[nb] = (struct owned){*a, &p->addresses, j, nb};
			if (is_router(&c->turn, a))
				rc = conf_fail(x, node_of(x, &external[nb]),
					"external: %s is a router of this box: are two addresses "
					"swapped?",
					addr_format(a, text, sizeof(text)));
			if (is_owned(owned, c->turn.nb_local, a))
				rc = conf_fail(x, node_of(x, &external[nb]),
					"external: %s is an address of this box: write the "
					"address to which the network translates it",
					addr_format(a, text, sizeof(text)));
			nb++;
		}
	}
	if (check_distinct(x, external, nb) != 0)
		rc = -EINVAL;
	free(external);
	return rc;
}

static int check_addresses(struct conf_ctx *x, struct owned *owned)
{
	const struct conf *c = x->conf;
	uint32_t nb = 0;
	int rc;

	for (uint32_t i = 0; i < c->nb_ports; i++) {
		const struct conf_port *p = &c->ports[i];

		for (uint32_t j = 0; j < p->nb_addresses; j++) {
			owned[nb] = (struct owned){p->addresses[j].addr, &p->addresses, j, nb};
			nb++;
		}
	}
	rc = check_distinct(x, owned, nb);
	if (check_externals(x, owned) != 0)
		rc = -EINVAL;
	for (uint32_t i = 0; i < c->nb_ports; i++)
		if (conf_routers_check_hosts(x, &c->ports[i]) != 0)
			rc = -EINVAL;
	if (check_listeners(x, owned) != 0)
		rc = -EINVAL;
	return check_relay(x, owned) != 0 ? -EINVAL : rc;
}

int conf_own_addrs_check(struct conf_ctx *x)
{
	struct owned *owned = calloc(x->conf->turn.nb_local, sizeof(*owned));
	int rc;

	if (owned == NULL)
		return conf_fail_memory(x);
	rc = check_addresses(x, owned);
	free(owned);
	return rc;
}
