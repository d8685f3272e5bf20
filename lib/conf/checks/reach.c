// SPDX-License-Identifier: BSD-3-Clause
// Warns of values that work but reach less than the operator may think: ports without gateways,
// private relay addresses, peer rules that never apply.
#include "checks/checks.h"

#include <stdio.h>
#include <stdlib.h>

#include "conf.h"
#include "turn_relay_map.h"
#include "values/addrs.h"
#include "reading/node.h"

#define POOLS_MAX 15 // relay.pools
#define AT(c, f, i, k) ((struct conf_at){c, &(c)->f, i, k})

// --- ports and relay addresses -------------------------------------------------------------------

static bool has_gateway(const struct conf_port *p, bool is_v4)
{
	for (uint32_t i = 0; i < p->nb_gateways; i++)
		if (addr_is_v4(&p->gateways[i]) == is_v4)
			return true;
	return false;
}

static bool has_route(const struct conf_port *p, bool is_v4)
{
	for (uint32_t i = 0; i < p->nb_routes; i++)
		if (addr_is_v4(&p->routes[i].via) == is_v4)
			return true;
	return false;
}

static bool has_family(const struct conf_port *p, bool is_v4)
{
	for (uint32_t i = 0; i < p->nb_addresses; i++)
		if (addr_is_v4(&p->addresses[i].addr) == is_v4)
			return true;
	return false;
}

// Writes the path of a port in the file: "ports[0]" or "ports[0].vlans[1]".
static void path_of(const struct conf *c, uint32_t port, char path[CONF_PATH_LEN])
{
	const struct conf_node *n = conf_node_by_field(c->root, &c->ports, port);

	snprintf(path, CONF_PATH_LEN, "ports");
	if (n != NULL)
		conf_node_path(n, path, CONF_PATH_LEN);
}

static void warn_gateways(const struct conf *c, struct conf_report *r)
{
	char path[CONF_PATH_LEN];

	for (uint32_t i = 0; i < c->nb_ports; i++) {
		for (int v4 = 1; v4 >= 0; v4--) {
			const struct conf_port *p = &c->ports[i];
			const void *field = p->nb_gateways > 0 ? (const void *)&p->gateways
							       : (const void *)&p->addresses;

			if (!has_family(p, v4) || has_gateway(p, v4) || has_route(p, v4))
				continue;
			path_of(c, i, path);
			conf_tell(r, CONF_WARNING, (struct conf_at){c, field, 0, "ports"},
				"port '%s' has no IPv%c gateway, so it reaches no clients and "
				"peers beyond its own subnets: name the router in %s.gateway, or "
				"for some networks in %s.routes",
				p->name, v4 ? '4' : '6', path, path);
		}
	}
}

// Names the private, shared or unique local range of an address, or returns NULL if the address can
// be reached from the Internet.
static const char *private_text(const struct addr *a)
{
	static const struct {
		const char *prefix, *text;
	} list[] = {{"10.0.0.0/8", "a private address (RFC 1918)"},
		{"172.16.0.0/12", "a private address (RFC 1918)"},
		{"192.168.0.0/16", "a private address (RFC 1918)"},
		{"100.64.0.0/10", "an address behind a carrier's NAT (RFC 6598)"},
		{"fc00::/7", "a unique local address (RFC 4193)"}};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
		struct prefix p;

		if (addr_prefix_parse(list[i].prefix, &p) == 0 && addr_prefix_contains(&p, a))
			return list[i].text;
	}
	return NULL;
}

// Returns the external address of an address of this box, or NULL if it is not translated.
static const struct addr *external_of(const struct turn_config *t, const struct addr *a)
{
	static const struct addr none;

	for (uint32_t i = 0; i < t->nb_local; i++)
		if (addr_eq(&t->local[i].addr, a) && !addr_eq(&t->local[i].external, &none))
			return &t->local[i].external;
	return NULL;
}

// Warns once for each entry of the file; an entry may be a range.
static void warn_private(const struct conf *c, struct conf_report *r)
{
	const struct conf_node *last = NULL;

	for (uint32_t i = 0; i < c->turn.nb_relay; i++) {
		const struct addr *external = external_of(&c->turn, &c->turn.relay[i]);
		const struct addr *told = external != NULL ? external : &c->turn.relay[i];
		const char *kind = private_text(told);
		const struct conf_node *n =
			kind != NULL ? conf_node_by_field(c->root, &c->turn.relay, i) : NULL;
		char text[ADDR_TEXT_LEN];

		if (kind == NULL || n == last)
			continue;
		last = n;
		addr_format(told, text, sizeof(text));
		if (external != NULL)
			conf_tell(r, CONF_WARNING, AT(c, turn.relay, i, "relay.addresses"),
				"clients are told its external address %s, which is %s: are "
				"'address' and 'external' swapped?",
				text, kind);
		else
			conf_tell(r, CONF_WARNING, AT(c, turn.relay, i, "relay.addresses"),
				"clients are told %s, which is %s, and peers elsewhere cannot "
				"reach it: give the port a public address, or name the one to "
				"which the network translates it (ports[].addresses[].external)",
				text, kind);
	}
}

static void reach_ports(const struct conf *c, struct conf_report *r)
{
	warn_gateways(c, r);
	warn_private(c, r);
}

// --- peers ---------------------------------------------------------------------------------------

// True if p lies in a prefix that carries IPv4 addresses. Peers are judged by the IPv4 address
// inside, so a rule for the prefix never matches.
static bool is_carrier(const struct prefix *p)
{
	const struct addr first = addr_canonical(p->addr);
	const struct addr_range r = addr_prefix_range(p);
	const struct addr last = addr_canonical(r.hi);

	return !addr_eq(&last, &r.hi) && addr_is_v4(&first) == addr_is_v4(&last);
}

// True if p lies in the prefix of one of the operator's translators and in no entry of peers.deny.
// A rule to allow it never matches either; inside a denied prefix it is an exception, and matches.
static bool is_behind(const struct turn_config *t, const struct prefix *p)
{
	bool behind = false;

	for (uint32_t i = 0; i < t->nb_nat64; i++)
		behind = behind ||
			(p->len >= t->nat64[i].len && addr_prefix_contains(&t->nat64[i], &p->addr));
	for (uint32_t i = 0; i < t->nb_deny && behind; i++)
		behind = p->len < t->deny[i].len || !addr_prefix_contains(&t->deny[i], &p->addr);
	return behind;
}

static bool is_own(const struct conf *c, const struct addr *a)
{
	for (uint32_t i = 0; i < c->turn.nb_local; i++)
		if (addr_eq(&c->turn.local[i].addr, a))
			return true;
	return false;
}

// Returns why no address in p can ever be a peer, whatever is allowed, or NULL if one can. Checking
// the first and the last address is enough: no refused class begins and ends inside a prefix that
// holds others.
static const char *never_text(const struct conf *c, const struct prefix *p)
{
	static const char *const text[] = {[ADDR_UNSPECIFIED] = "unspecified addresses are",
		[ADDR_LOOPBACK] = "loopback addresses are",
		[ADDR_LINK_LOCAL] = "link-local addresses are",
		[ADDR_MULTICAST] = "multicast addresses are",
		[ADDR_RESERVED] = "reserved addresses are",
		[ADDR_TRANSITION] = "addresses of transition mechanisms are"};
	const struct addr_range r = addr_prefix_range(p);
	const enum addr_class class = addr_class(&r.lo);

	if (class != ADDR_UNICAST && class == addr_class(&r.hi))
		return text[class];
	for (uint32_t i = 0; addr_eq(&r.lo, &r.hi) && i < c->turn.nb_local; i++)
		if (addr_eq(&c->turn.local[i].addr, &r.lo))
			return c->turn.local[i].beside ? NULL : "addresses of this box are";
	return NULL;
}

// Values that are computed once for many peer rules.
struct judge {
	const struct conf *conf;
	bool sends[POOLS_MAX + 1][CONF_PORTS_MAX][2]; // by pool (0: none), port and [is_v4]
	struct prefix *deny; // peers.deny and its files, sorted; only used with peers.allow
	uint32_t nb_deny;
};

static int prefix_cmp(const void *a, const void *b)
{
	const struct prefix *l = a, *r = b;
	const int diff = addr_cmp(&l->addr, &r->addr);

	return diff != 0 ? diff : l->len - r->len;
}

// True if a pool (0: the relay addresses themselves) has an address of a family on this port.
static bool sends_from(const struct conf *c, uint32_t pool, const struct conf_port *p, bool is_v4)
{
	for (uint32_t i = 0; i < c->turn.nb_relay; i++) {
		const struct addr a = turn_relay_pool_addr(&c->turn, pool, i);

		if (addr_is_v4(&a) == is_v4 && conf_port_address(p, &a) != NULL)
			return true;
	}
	return false;
}

static bool judge_make(struct judge *g, const struct conf *c)
{
	const struct turn_config *t = &c->turn;
	const uint32_t nb = t->nb_allow > 0 ? t->nb_deny + t->nb_deny_listed : 0;

	*g = (struct judge){
		.conf = c, .deny = calloc((size_t)nb + 1, sizeof(*g->deny)), .nb_deny = nb};
	if (g->deny == NULL)
		return false;
	for (uint32_t i = 0; i < nb; i++)
		g->deny[i] = i < t->nb_deny ? t->deny[i] : t->deny_listed[i - t->nb_deny];
	qsort(g->deny, nb, sizeof(*g->deny), prefix_cmp);
	for (uint32_t pool = 0; pool <= c->turn.nb_relay_pools; pool++)
		for (uint32_t i = 0; i < c->nb_ports; i++)
			for (unsigned int v4 = 0; v4 < 2; v4++)
				g->sends[pool][i][v4] = sends_from(c, pool, &c->ports[i], v4);
	return true;
}

// Returns the pool that these peers see, or 0 if they see no pool.
static uint32_t pool_of(const struct turn_config *t, const struct prefix *peers)
{
	uint32_t found = 0;
	uint8_t longest = 0;

	for (uint32_t i = 0; i < t->nb_relay_pools; i++) {
		for (uint32_t k = 0; k < t->relay_pools[i].nb_peers; k++) {
			const struct prefix *p = &t->relay_pools[i].peers[k];

			if (p->len > peers->len || (found != 0 && p->len < longest) ||
				addr_is_v4(&p->addr) != addr_is_v4(&peers->addr) ||
				!addr_prefix_contains(p, &peers->addr))
				continue;
			found = i + 1;
			longest = p->len;
		}
	}
	return found;
}

// True if a route is for addresses that peers of this pool see.
static bool serves_pool(const struct judge *g, const struct route *r, uint32_t pool, bool is_v4)
{
	for (uint32_t i = 0; i < g->conf->nb_ports; i++)
		if (g->sends[pool][i][is_v4] && (r->not_for >> i & 1) == 0)
			return true;
	return false;
}

// True if a packet reaches some of these peers from the addresses of a pool: by a subnet or a route
// of any port that serves them, or by the gateway of the port that has the address.
static bool is_reached(const struct judge *g, const struct prefix *peers, uint32_t pool)
{
	const struct turn_config *t = &g->conf->turn;
	const bool v4 = addr_is_v4(&peers->addr);

	for (uint32_t i = 0; i < t->nb_routes; i++) {
		const struct route *r = &t->routes[i];

		if (!serves_pool(g, r, pool, v4))
			continue;
		if (addr_is_v4(&r->dst.addr) == v4 &&
			(addr_prefix_contains(&r->dst, &peers->addr) ||
				addr_prefix_contains(peers, &r->dst.addr)))
			return true;
	}
	return false;
}

// True if an entry of peers.allow has a fault, which text then describes.
static bool allow_fault(const struct judge *g, const struct prefix *p, char *text, size_t len)
{
	const char *never = never_text(g->conf, p);

	if (bsearch(p, g->deny, g->nb_deny, sizeof(*p), prefix_cmp) != NULL) {
		snprintf(text, len, "is in peers.deny too, which wins: remove one of them");
		return true;
	}
	if (p->len == (addr_is_v4(&p->addr) ? 96 : 0)) {
		snprintf(text, len,
			"opens nothing, because longer prefixes deny private networks: name "
			"those, like %s",
			addr_is_v4(&p->addr) ? "10.0.0.0/8" : "fd00::/8");
		return true;
	}
	if (never != NULL) {
		snprintf(text, len, "has no effect: %s never peers%s: remove it", never,
			is_own(g->conf, &p->addr)
				? " (programs of this machine are where the port is a packet: "
				  "port, relay ports by peers.hairpin)"
				: "");
		return true;
	}
	if (is_reached(g, p, pool_of(&g->conf->turn, p)))
		return false;
	snprintf(text, len,
		"no relay address reaches these peers: no port has them in a subnet or behind a "
		"route, and no port with the address that they see has an IPv%c gateway. Add a "
		"route or a gateway",
		addr_is_v4(&p->addr) ? '4' : '6');
	return true;
}

// Describes the fault of an entry of peers.allow (allow) or peers.deny. A denied entry
// behind a translator is judged as written.
static bool carrier_fault(
	const struct turn_config *t, const struct prefix *p, bool allow, char *text, size_t len)
{
	char addr[ADDR_TEXT_LEN];

	if (!is_carrier(p) && !(allow && is_behind(t, p)))
		return false;
	snprintf(text, len,
		"%s/%u never matches, because the IPv4 address embedded in it is judged: write "
		"that",
		addr_format(&p->addr, addr, sizeof(addr)), p->len);
	return true;
}

static bool is_among(const struct prefix *p, const struct prefix *list, uint32_t nb)
{
	for (uint32_t i = 0; i < nb; i++)
		if (addr_prefix_contains(&list[i], &p->addr) ||
			addr_prefix_contains(p, &list[i].addr))
			return true;
	return false;
}

// True if some of these addresses may be peers in some realm. Private addresses are peers only if
// peers.allow, or that of a realm, allows them.
static bool is_allowed(const struct turn_config *t, const struct prefix *p)
{
	bool allowed = private_text(&p->addr) == NULL || is_among(p, t->allow, t->nb_allow);

	for (uint32_t i = 0; i < turn_config_nb_realms(t) && !allowed; i++) {
		const struct turn_realm *r = turn_config_realm(t, i);

		allowed = is_among(p, r->allow, r->nb_allow);
	}
	return allowed;
}

// A pool decides which address peers see. It neither allows the peers nor adds a route to them.
static void warn_pools(const struct judge *g, struct conf_report *r)
{
	const struct conf *c = g->conf;

	for (uint32_t i = 0; i < c->turn.nb_relay_pools; i++) {
		const struct turn_relay_pool *pool = &c->turn.relay_pools[i];

		for (uint32_t k = 0; k < pool->nb_peers; k++) {
			const struct conf_at location = {c, &pool->peers, k, "relay.pools"};

			if (!is_allowed(&c->turn, &pool->peers[k]))
				conf_tell(r, CONF_WARNING, location,
					"peers.allow allows no peer of it: add them there");
			if (!is_reached(g, &pool->peers[k], i + 1))
				conf_tell(r, CONF_WARNING, location,
					"no route leads to these peers from the pool's addresses: "
					"add one to ports[].routes");
		}
	}
}

static void reach_peers(const struct conf *c, struct conf_report *r)
{
	const struct turn_config *t = &c->turn;
	const struct conf_node *last = NULL;
	struct judge g;

	if (!judge_make(&g, c))
		return;
	for (uint32_t i = 0; i < t->nb_allow + t->nb_deny && !conf_warned(r); i++) {
		const uint32_t k = i < t->nb_allow ? i : i - t->nb_allow;
		const struct conf_at location = i < t->nb_allow
			? AT(c, turn.allow, k, "peers.allow")
			: AT(c, turn.deny, k, "peers.deny");
		const struct prefix *p = i < t->nb_allow ? &t->allow[k] : &t->deny[k];
		char text[256];

		if (!carrier_fault(t, p, i < t->nb_allow, text, sizeof(text)) &&
			(i >= t->nb_allow || !allow_fault(&g, p, text, sizeof(text))))
			continue;
		// a range is many prefixes; report only one of them
		if (last != NULL && last->field == location.field && k - last->first < last->count)
			continue;
		conf_tell(r, CONF_WARNING, location, "%s", text);
		last = conf_node_by_field(c->root, location.field, k);
	}
	warn_pools(&g, r);
	free(g.deny);
}

void conf_reach_all(const struct conf *c, struct conf_report *r)
{
	reach_ports(c, r);
	reach_peers(c, r);
}
