// SPDX-License-Identifier: BSD-3-Clause
// The policy: everything that requests are judged by, copied from the configuration once. Peer
// addresses come in canonical form, so no notation of an address can evade a rule that was written
// for another one.
#include "auth/policy.h"

#include <errno.h>
#include <stdlib.h>

#include "auth/denied.h"
#include "peers.h"
#include "secret.h"

// --- peers --------------------------------------------------------------------------------------

static int by_addr(const void *a, const void *b)
{
	return addr_cmp(a, b);
}

static bool is_listed(const struct addr *list, uint32_t nb, const struct addr *a)
{
	return bsearch(a, list, nb, sizeof(*list), by_addr) != NULL;
}

// Finds the rule with the longest prefix that contains an address, among those of all realms and of
// the realm itself. False if there is no rule.
static bool find_rule(const struct turn_policy *p, const struct addr *a, struct prefixes_hit *rule)
{
	const bool found = prefixes_find(p->rules, a, rule);
	struct prefixes_hit realm_rule;

	if (p->own_rules == NULL || !prefixes_find(p->own_rules, a, &realm_rule))
		return found;
	if (!found || realm_rule.len > rule->len ||
		(realm_rule.len == rule->len && realm_rule.value < rule->value))
		*rule = realm_rule;
	return true;
}

// True if peers.allow names exactly this address: an operator who allows a network may not have
// thought of this one host in it, as with gateways.
static bool is_named(const struct turn_policy *p, const struct addr *a)
{
	struct prefixes_hit rule;

	return find_rule(p, a, &rule) && rule.len == 128 && rule.value == POLICY_ALLOW;
}

bool policy_beside(const struct turn_policy *p, const struct addr *local)
{
	return is_listed(p->beside, p->nb_beside, local) && is_named(p, local);
}

bool policy_is_common(const struct turn_policy *p, const struct addr *a)
{
	return external_find_outside(&p->external, a) != NULL && is_named(p, a);
}

bool policy_is_own(const struct turn_policy *p, const struct addr *a)
{
	const struct addr local = external_meant(&p->external, a);

	return is_listed(p->relay, p->nb_relay, &local) || is_listed(p->local, p->nb_local, &local);
}

static int by_endpoint(const void *a, const void *b)
{
	const struct endpoint *l = a, *r = b;
	const int order = addr_cmp(&l->addr, &r->addr);

	return order != 0 ? order : l->port - r->port;
}

static bool is_listener(const struct turn_policy *p, const struct endpoint *endpoint, bool over_tcp)
{
	return bsearch(endpoint, p->listener[over_tcp], p->nb_listener[over_tcp], sizeof(*endpoint),
		       by_endpoint) != NULL;
}

static bool is_relay_port(const struct turn_policy *p, uint16_t port, bool over_tcp)
{
	return port >= p->port_lo[over_tcp] && port <= p->port_hi[over_tcp];
}

// True if this server uses the port of an external address, at the address it is translated to.
static bool is_our_port(
	const struct turn_policy *p, const struct external_pair *e, uint16_t port, bool over_tcp)
{
	return is_listener(p, &(struct endpoint){e->target, port}, over_tcp) ||
		(is_relay_port(p, port, over_tcp) && is_listed(p->relay, p->nb_relay, &e->local));
}

struct endpoint policy_meant(
	const struct turn_policy *p, const struct endpoint *named, bool over_tcp)
{
	const struct external_pair *e = external_find(&p->external, &named->addr);

	if (e == NULL ||
		(policy_is_common(p, &named->addr) && !is_our_port(p, e, named->port, over_tcp)))
		return *named;
	return (struct endpoint){e->local, named->port};
}

// Judges one of our external addresses like the address it is translated to, except at ports of
// other hosts that share it.
static enum turn_peer_class judge_external(
	const struct turn_policy *p, const struct external_pair *e, uint16_t port)
{
	const bool ours = port != TURN_PORT_ANY && is_our_port(p, e, port, false);

	return policy_is_common(p, &e->public) && !ours ? TURN_PEER_ALLOW : TURN_PEER_NEVER;
}

// Judges a port of one of our addresses; relay is true for a relay address.
static enum turn_peer_class judge_own(
	const struct turn_policy *p, const struct addr *local, uint16_t port, bool relay)
{
	const bool any = port == TURN_PORT_ANY;
	const bool relayed = relay && (any || is_relay_port(p, port, false));

	if (is_listener(p, &(struct endpoint){*local, port}, false))
		return TURN_PEER_NEVER;
	if (relayed && p->hairpin)
		return TURN_PEER_OWN;
	if ((any || !relayed) && policy_beside(p, local))
		return TURN_PEER_OWN;
	return relayed ? TURN_PEER_DENY : TURN_PEER_NEVER;
}

// Judges an address that is under no translator's prefix, or the IPv4 address that a translator
// leads to. An address of a pool is judged like the relay address that it replaces.
static enum turn_peer_class judge_addr(
	const struct turn_policy *p, const struct addr *peer, uint16_t port)
{
	const struct external_pair *outside = external_find_outside(&p->external, peer);
	const struct addr local = external_meant(&p->external, peer), *a = &local;
	struct prefixes_hit rule;

	if (addr_class(peer) != ADDR_UNICAST || is_listed(p->broadcasts, p->nb_broadcasts, a))
		return TURN_PEER_NEVER;
	if (outside != NULL)
		return judge_external(p, outside, port);
	if (is_listed(p->relay, p->nb_relay, a))
		return judge_own(p, a, port, true);
	if (is_listed(p->local, p->nb_local, a))
		return judge_own(p, a, port, false);
	return !find_rule(p, a, &rule) || rule.value == POLICY_ALLOW ? TURN_PEER_ALLOW
								     : TURN_PEER_DENY;
}

// Judges an address under a translator's prefix (len bits) like v4, the IPv4 address in it, except
// that no client may reach our own addresses through a translator. The operator's deny of the IPv6
// address still holds, and so does a built-in deny of a prefix longer than the translator's. A
// built-in deny of the same or a shorter prefix does not: it only says where the translator's
// prefix lies.
static enum turn_peer_class judge_behind(
	const struct turn_policy *p, uint8_t len, const struct addr *a, const struct addr *v4)
{
	const enum addr_class class = addr_class(a);
	enum turn_peer_class v4_class;
	struct prefixes_hit rule;

	if ((class != ADDR_UNICAST && class != ADDR_TRANSITION) || a->b[8] != 0 ||
		policy_is_own(p, v4))
		return TURN_PEER_NEVER;
	v4_class = judge_addr(p, v4, TURN_PORT_ANY);
	if (v4_class != TURN_PEER_ALLOW)
		return v4_class == TURN_PEER_DENY ? TURN_PEER_DENY : TURN_PEER_NEVER;
	if (find_rule(p, a, &rule) && rule.value != POLICY_ALLOW &&
		(rule.value == POLICY_DENY || rule.len > len))
		return TURN_PEER_DENY;
	return TURN_PEER_ALLOW;
}

enum turn_peer_class turn_policy_peer(
	const struct turn_policy *p, const struct addr *a, uint16_t port)
{
	enum turn_peer_class strictest = TURN_PEER_ALLOW;
	bool behind = false;

	if (port == 0)
		return TURN_PEER_NEVER;
	for (uint32_t i = 0; i < p->nb_nat64; i++) {
		enum turn_peer_class class;
		struct addr v4;

		if (!addr_nat64(&p->nat64[i], a, &v4))
			continue;
		behind = true;
		class = judge_behind(p, p->nat64[i].len, a, &v4);
		strictest = class < strictest ? class : strictest;
	}
	if (!behind || is_listed(p->relay, p->nb_relay, a) || is_listed(p->local, p->nb_local, a))
		return judge_addr(p, a, port);
	return strictest;
}

bool turn_policy_serves(const struct turn_policy *p, const struct addr *client)
{
	struct prefixes_hit rule;

	return p->clients == NULL || !prefixes_find(p->clients, client, &rule) ||
		rule.value == POLICY_ALLOW;
}

static int by_own_addr(const void *a, const void *b)
{
	return addr_cmp(
		&((const struct turn_local *)a)->addr, &((const struct turn_local *)b)->addr);
}

bool policy_reaches(const struct turn_policy *p, uint32_t relay, const struct addr *peer)
{
	const struct turn_local *local;
	struct turn_local key;

	if (p->routes == NULL)
		return true;
	key.addr = p->relay_pools.addr[relay_pools_source(&p->relay_pools, relay, peer)];
	local = bsearch(&key, p->local_ports, p->nb_own, sizeof(key), by_own_addr);
	return local != NULL && routes_find(p->routes, p->nb_routes, local->port, peer) != NULL;
}

// --- making: keys ------------------------------------------------------------------------------

// Every builder below returns 0 or an errno value.

// The keys of nonces, and those of features, depend only on the fleet's secret, so that all servers
// of the fleet share them.
static int derive_keys(struct turn_policy *p, const struct turn_config *c,
	struct stun_crypto *crypto, const uint8_t boot_key[32])
{
	static const char nonce_label[] = "turn nonce key", table_label[] = "turn user table key";
	const bool fleet = c->nonce_secret != NULL && c->nonce_secret[0] != '\0';
	const void *secret = fleet ? (const void *)c->nonce_secret : boot_key;
	const size_t secret_len = fleet ? strlen(c->nonce_secret) : 32;
	uint8_t table_key[32];

	_Static_assert(sizeof(p->key) == sizeof(table_key), "a hash key is one HMAC");
	p->nonces_shared = fleet;
	if (!stun_hmac_sha256(crypto, secret, secret_len, nonce_label, sizeof(nonce_label) - 1,
		    p->nonce_key) ||
		!stun_hmac_sha256(
			crypto, boot_key, 32, table_label, sizeof(table_label) - 1, table_key))
		return EIO;
	memcpy(&p->key, table_key, sizeof(table_key));
	explicit_bzero(table_key, sizeof(table_key));
#define X(type, field, make)                                        \
	if (!make(crypto, secret, secret_len, boot_key, &p->field)) \
		return EIO;
	TURN_POLICY_KEYS(X)
#undef X
	return 0;
}

// --- making: our addresses ----------------------------------------------------------------------

// Adds both broadcast addresses of a subnet: all ones, and the historic all zeros, which hosts must
// still accept (RFC 1122 3.3.6). A /31 or /32 has no broadcast address (RFC 3021).
static void add_broadcasts(struct turn_policy *p, const struct prefix *subnet)
{
	const struct addr_range r = addr_prefix_range(subnet);

	if (subnet->len > 126 || !addr_is_v4(&r.lo))
		return;
	p->broadcasts[p->nb_broadcasts++] = r.lo;
	p->broadcasts[p->nb_broadcasts++] = r.hi;
}

static int copy_own(struct turn_policy *p, const struct turn_config *c)
{
	p->relay = calloc(c->nb_relay + 1, sizeof(*p->relay));
	p->local = calloc((size_t)c->nb_local + c->nb_listeners + 1, sizeof(*p->local));
	p->broadcasts = calloc(2 * (size_t)c->nb_local + 1, sizeof(*p->broadcasts));
	p->beside = calloc((size_t)c->nb_local + 1, sizeof(*p->beside));
	for (int i = 0; i < 2; i++)
		p->listener[i] = calloc((size_t)c->nb_listeners + 1, sizeof(*p->listener[i]));
	if (p->relay == NULL || p->local == NULL || p->broadcasts == NULL || p->beside == NULL ||
		p->listener[0] == NULL || p->listener[1] == NULL ||
		!external_make(&p->external, c) || !relay_pools_make(&p->relay_pools, c))
		return ENOMEM;
#define X(type, field, make, free) \
	if (!make(&p->field, c))   \
		return ENOMEM;
	TURN_POLICY_ADDRESSES(X)
#undef X
	for (uint32_t i = 0; i < c->nb_relay; i++)
		p->relay[p->nb_relay++] = c->relay[i];
	for (uint32_t i = 0; i < c->nb_listeners; i++) {
		const bool over_tcp = turn_listener_is_stream(&c->listeners[i]);

		p->local[p->nb_local++] = c->listeners[i].endpoint.addr;
		p->listener[over_tcp][p->nb_listener[over_tcp]++] = c->listeners[i].endpoint;
	}
	p->port_lo[0] = c->port_lo;
	p->port_hi[0] = c->port_hi;
	p->port_lo[1] = 1;
#define X(enabled, lo, hi, key)        \
	if (c->enabled) {              \
		p->port_lo[1] = c->lo; \
		p->port_hi[1] = c->hi; \
	}
	TURN_CONFIG_TCP_PORTS(X)
#undef X
	for (uint32_t i = 0; i < c->nb_local; i++) {
		p->local[p->nb_local++] = c->local[i].addr;
		if (c->local[i].beside)
			p->beside[p->nb_beside++] = c->local[i].addr;
		add_broadcasts(p, &c->local[i].subnet);
	}
	qsort(p->relay, p->nb_relay, sizeof(*p->relay), by_addr);
	qsort(p->local, p->nb_local, sizeof(*p->local), by_addr);
	qsort(p->beside, p->nb_beside, sizeof(*p->beside), by_addr);
	for (int i = 0; i < 2; i++)
		qsort(p->listener[i], p->nb_listener[i], sizeof(*p->listener[i]), by_endpoint);
	qsort(p->broadcasts, p->nb_broadcasts, sizeof(*p->broadcasts), by_addr);
	return 0;
}

// --- making: rules ------------------------------------------------------------------------------

// The operator's deny wins over the operator's allow of the same prefix, and that allow over the
// built-in deny: allow: [10.0.0.0/8] opens 10/8, and a gateway's own /32 opens the gateway.
static uint32_t add_rules(struct prefixes_entry *out, const struct prefix *list, uint32_t nb,
	enum policy_origin origin)
{
	for (uint32_t i = 0; i < nb; i++)
		out[i] = (struct prefixes_entry){.prefix = list[i], .value = (uint8_t)origin};
	return nb;
}

// Adds the anycast addresses of our IPv6 subnet, which its routers answer: that of all routers (RFC
// 4291 section 2.6.1; RFC 6164: a link of two has no such address) and the 128 highest (RFC 2526).
// Returns the number of prefixes.
static uint32_t add_anycast(struct prefixes_entry *out, const struct prefix *subnet)
{
	const struct addr_range all = addr_prefix_range(subnet);
	struct prefix anycast[] = {{.addr = all.lo, .len = 128}, {.addr = all.hi, .len = 128 - 7}};

	if (addr_is_v4(&subnet->addr) || subnet->len > 126)
		return 0;
	if (subnet->len == 64)
		anycast[1].addr.b[8] = 0xfd; // an EUI-64 identifier of local scope
	return add_rules(out, anycast, subnet->len <= anycast[1].len ? 2 : 1, POLICY_BUILTIN_DENY);
}

// Returns the end of the added entries, or NULL if a built-in prefix does not parse.
static struct prefixes_entry *add_builtin(struct prefixes_entry *out, const struct turn_config *c)
{
	for (uint32_t i = 0; i < c->nb_gateways; i++) {
		const struct prefix host = {.addr = c->gateways[i], .len = 128};

		out += add_rules(out, &host, 1, POLICY_BUILTIN_DENY);
	}
	for (uint32_t i = 0; i < c->nb_local; i++)
		out += add_anycast(out, &c->local[i].subnet);
	for (size_t i = 0; i < nb_denied_by_default; i++) {
		struct prefix prefix;

		if (addr_prefix_parse(denied_by_default[i], &prefix) != 0)
			return NULL;
		out += add_rules(out, &prefix, 1, POLICY_BUILTIN_DENY);
	}
	return out;
}

static int make_rules(struct turn_policy *p, const struct turn_config *c)
{
	const size_t most = (size_t)c->nb_deny + c->nb_deny_listed + c->nb_allow + c->nb_gateways +
		2 * (size_t)c->nb_local + nb_denied_by_default;
	struct prefixes_entry *list = calloc(most, sizeof(*list)), *out = list;

	if (list == NULL)
		return ENOMEM;
	out += add_rules(out, c->deny, c->nb_deny, POLICY_DENY);
	out += add_rules(out, c->deny_listed, c->nb_deny_listed, POLICY_DENY);
	out += add_rules(out, c->allow, c->nb_allow, POLICY_ALLOW);
	out = add_builtin(out, c);
	p->rules = out != NULL ? prefixes_make(list, (uint32_t)(out - list)) : NULL;
	free(list);
	if (out == NULL)
		return EINVAL;
	return p->rules == NULL ? ENOMEM : 0;
}

static int make_clients(struct turn_policy *p, const struct turn_config *c)
{
	// if some addresses are allowed, no others are
	static const struct prefix all[] = {
		{.len = 0}, {.addr = {.b = {[10] = 0xff, [11] = 0xff}}, .len = 96}};
	const size_t most =
		(size_t)c->nb_client_deny + c->nb_client_deny_listed + c->nb_client_allow + 2;
	struct prefixes_entry *list, *out;

	if (most == 2)
		return 0;
	list = out = calloc(most, sizeof(*list));
	if (list == NULL)
		return ENOMEM;
	out += add_rules(out, c->client_deny, c->nb_client_deny, POLICY_DENY);
	out += add_rules(out, c->client_deny_listed, c->nb_client_deny_listed, POLICY_DENY);
	out += add_rules(out, c->client_allow, c->nb_client_allow, POLICY_ALLOW);
	if (c->nb_client_allow > 0)
		out += add_rules(out, all, 2, POLICY_BUILTIN_DENY);
	p->clients = prefixes_make(list, (uint32_t)(out - list));
	free(list);
	return p->clients == NULL ? ENOMEM : 0;
}

static int copy_routes(struct turn_policy *p, const struct turn_config *c)
{
	if (c->routes == NULL)
		return 0;
	p->local_ports = calloc((size_t)c->nb_local + 1, sizeof(*p->local_ports));
	p->routes = calloc((size_t)c->nb_routes + 1, sizeof(*p->routes));
	if (p->local_ports == NULL || p->routes == NULL)
		return ENOMEM;
	for (uint32_t i = 0; i < c->nb_local; i++)
		p->local_ports[p->nb_own++] = c->local[i];
	qsort(p->local_ports, p->nb_own, sizeof(*p->local_ports), by_own_addr);
	memcpy(p->routes, c->routes, c->nb_routes * sizeof(*p->routes));
	p->nb_routes = c->nb_routes;
	return 0;
}

static int copy_nat64(struct turn_policy *p, const struct turn_config *c)
{
	p->nat64 = calloc((size_t)c->nb_nat64 + 1, sizeof(*p->nat64));
	if (p->nat64 == NULL)
		return ENOMEM;
	for (uint32_t i = 0; i < c->nb_nat64; i++) {
		if (!addr_nat64_prefix(&c->nat64[i]))
			return EINVAL;
		p->nat64[p->nb_nat64++] = c->nat64[i];
	}
	return 0;
}

// --- making: the whole --------------------------------------------------------------------------

static bool needs_names(const struct turn_config *c)
{
	bool needs = false;

	for (uint32_t i = 0; i < turn_config_nb_realms(c); i++) {
		const struct turn_realm *r = turn_config_realm(c, i);

		needs |= turn_realm_credentials(r) > r->nb_users;
	}
	return needs;
}

// True if no more relay ports exist than limits.allocations allows. A client that finds no free
// port then gets 508, not the error of a quota.
static bool limits_nothing(const struct turn_config *c)
{
	const uint64_t ports = (uint64_t)c->nb_relay * ((uint32_t)c->port_hi - c->port_lo + 1);

	return !turn_config_shares_ports(c) && c->nb_relay > 0 &&
		c->limits.allocations + c->nb_listeners >= ports;
}

int policy_make_addresses(struct turn_policy *p, const struct turn_config *c)
{
	int err = copy_own(p, c);

	if (err == 0)
		err = make_rules(p, c);
	return err == 0 ? copy_routes(p, c) : err;
}

static int build_policy(struct turn_policy *p, const struct turn_config *c,
	struct stun_crypto *crypto, const uint8_t boot_key[32])
{
	int err;

	p->nonce_lifetime_s = c->nonce_lifetime_s;
	p->limits = c->limits;
	if (limits_nothing(c))
		p->limits.allocations = 0;
	if (p->limits.permission_s == 0)
		p->limits.permission_s = TURN_PERMISSION_S;
	if (p->limits.channel_s == 0)
		p->limits.channel_s = TURN_CHANNEL_S;
	p->rest_expiry = c->rest_expiry;
	p->hairpin = c->hairpin;
	p->rfc5766_channels = c->rfc5766_channels;
	p->icmp_tell = c->icmp_tell;
	p->default_family = c->default_family;
	p->quarantine_s = c->quarantine_s;
	p->interim_s = c->interim_s;
	p->tells_peers = c->tells_peers;
#define X(type, field, value) p->field = c->value;
	TURN_POLICY_VALUES(X)
#undef X
	p->needs_names = needs_names(c);
	err = derive_keys(p, c, crypto, boot_key);
	if (err == 0)
		err = policy_make_realm(p, &c->first, crypto);
	if (err == 0)
		err = policy_make_addresses(p, c);
	if (err == 0)
		err = copy_nat64(p, c);
	if (err == 0)
		err = make_clients(p, c);
#define X(type, field, make, move, free) \
	if (err == 0)                    \
		err = make(p, c, crypto);
	TURN_POLICY_LAST(X)
#undef X
	return err;
}

struct turn_policy *turn_policy_create(
	const struct turn_config *c, struct stun_crypto *crypto, const uint8_t boot_key[32])
{
	struct turn_policy *p = secret_alloc(sizeof(*p));
	int err;

	if (p == NULL)
		return NULL;
	err = build_policy(p, c, crypto, boot_key);
	if (err != 0) {
		turn_policy_free(p);
		errno = err;
		return NULL;
	}
	return p;
}

void policy_free_addresses(struct turn_policy *p)
{
	free(p->relay);
	free(p->local);
	free(p->beside);
	free(p->listener[0]);
	free(p->listener[1]);
	external_free(&p->external);
	relay_pools_free(&p->relay_pools);
#define X(type, field, make, free) free(&p->field);
	TURN_POLICY_ADDRESSES(X)
#undef X
	free(p->broadcasts);
	prefixes_free(p->rules);
	free(p->local_ports);
	free(p->routes);
}

void turn_policy_free(struct turn_policy *p)
{
	if (p == NULL)
		return;
#define X(type, field, make, move, free) free(p, false);
	TURN_POLICY_LAST(X)
#undef X
	policy_free_addresses(p);
	prefixes_free(p->clients);
	free(p->nat64);
	policy_free_realm(p);
}
