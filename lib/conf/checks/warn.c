// SPDX-License-Identifier: BSD-3-Clause
// Warns of values that work but may surprise the operator.
#include "checks/checks.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "conf.h"
#include "conf_lcores.h"
#include "conf_features.h"
#include "reading/node.h"

// Realm bytes up to which a 401 is at most 3 times as long as the shortest Allocate, counted in
// whole IP packets.
#define REALM_SHORT 16
#define SECRET_SHORT 16
#define RFC_PERMISSION_S 300u // RFC 8656 9
#define RFC_CHANNEL_S 600u // RFC 8656 12
#define SEEN_TWICE "net_af_packet"

// A place in the configuration, as conf_tell takes it.
#define AT(c, f, i, k) ((struct conf_at){c, &(c)->f, i, k})

// Returns why the operator cannot have meant a text as it is, or NULL.
static const char *placeholder_fault(const char *text)
{
	static const char *const change[] = {"change me", "changeme", "change-me", "change_me"};
	// curly quotes, U+2018 to U+201F, are not quotes in YAML
	const char *curly = strstr(text, "\xe2\x80");

	for (size_t i = 0; i < sizeof(change) / sizeof(change[0]); i++)
		if (strncasecmp(text, change[i], strlen(change[i])) == 0)
			return "is the published secret of the examples: write your own (openssl "
			       "rand -hex 24)";
	if (strstr(text, "${") != NULL || strstr(text, "{{") != NULL || strncmp(text, "$(", 2) == 0)
		return "looks like a variable, which slipring does not fill in: write the value "
		       "itself";
	if (curly != NULL && (unsigned char)curly[2] >= 0x98 && (unsigned char)curly[2] <= 0x9f)
		return "has curly quotes, which become part of the value: use \" or '";
	return NULL;
}

static void warn_placeholder(struct conf_report *r, struct conf_at location, const char *text)
{
	const char *fault = text != NULL ? placeholder_fault(text) : NULL;

	if (fault != NULL)
		conf_tell(r, CONF_WARNING, location, "%s", fault);
}

static void warn_secret(struct conf_report *r, struct conf_at location, const char *text)
{
	warn_placeholder(r, location, text);
	if (placeholder_fault(text) == NULL && strlen(text) < SECRET_SHORT)
		conf_tell(r, CONF_WARNING, location,
			"has fewer than %u characters and may be guessed: make it longer",
			SECRET_SHORT);
}

static void warn_name(struct conf_report *r, struct conf_at location, const char *realm)
{
	if (strlen(realm) > REALM_SHORT)
		conf_tell(r, CONF_WARNING, location,
			"has %zu bytes, and unauthenticated answers amplify: use at most %u, "
			"which keep them well within 3 times their request",
			strlen(realm), REALM_SHORT);
	warn_placeholder(r, location, realm);
}

// Warns of the name, the users and the secrets of a realm. section names the place.
static void warn_realm(const struct conf *c, struct conf_report *r, const struct turn_realm *m,
	const char *section)
{
	warn_name(r, (struct conf_at){c, &m->name, 0, section}, m->name);
	for (uint32_t i = 0; i < m->nb_users && !conf_warned(r); i++) {
		const struct turn_user *u = &m->users[i];

		warn_placeholder(r, (struct conf_at){c, &u->password, 0, section}, u->password);
	}
	for (uint32_t i = 0; i < m->nb_secrets && !conf_warned(r); i++)
		warn_secret(r, (struct conf_at){c, &m->secrets, i, section}, m->secrets[i]);
}

static void warn_auth(const struct conf *c, struct conf_report *r)
{
	const struct turn_config *t = &c->turn;

	for (uint32_t i = 0; i < turn_config_nb_realms(t) && !conf_warned(r); i++)
		warn_realm(c, r, turn_config_realm(t, i), i == 0 ? "auth" : "realms");
	if (t->nonce_secret[0] != '\0')
		warn_secret(r, AT(c, turn.nonce_secret, 0, "auth.nonce.secret"), t->nonce_secret);
}

// A surplus lcore costs an idle thread, and may be a mistake in counting.
static void warn_lcores(const struct conf *c, struct conf_report *r)
{
	const int lcores = c->eal_lcores != NULL ? conf_lcores_count(c->eal_lcores) : 0;

	if (c->workers != 0 && lcores > (int)c->workers + 1)
		conf_tell(r, CONF_WARNING, AT(c, eal_lcores, 0, "eal.lcores"),
			"names %d lcores, and management and %u worker%s use %u: name fewer, or "
			"set workers.count to %d",
			lcores, c->workers, c->workers == 1 ? "" : "s", c->workers + 1, lcores - 1);
}

static void warn_workers(const struct conf *c, struct conf_report *r)
{
	const long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	if (cpus > 0 && (long)c->workers > cpus)
		conf_tell(r, CONF_WARNING, AT(c, workers, 0, "workers.count"),
			"%u workers share %ld CPU%s and take turns: lower workers.count",
			c->workers, cpus, cpus == 1 ? "" : "s");
}

// True if the data path owns UDP at that address and port.
static bool is_taken(const struct turn_config *t, const struct addr *a, uint16_t port)
{
	for (uint32_t i = 0; i < t->nb_listeners; i++)
		if (!turn_listener_is_stream(&t->listeners[i]) &&
			t->listeners[i].endpoint.port == port &&
			addr_eq(&t->listeners[i].endpoint.addr, a))
			return true;
	for (uint32_t i = 0; i < t->nb_relay && port >= t->port_lo && port <= t->port_hi; i++)
		if (addr_eq(&t->relay[i], a))
			return true;
	return false;
}

static void warn_taken(const struct conf *c, uint32_t port, struct conf_report *r)
{
	const struct conf_port *p = &c->ports[port];

	for (uint32_t i = 0; i < p->exception.nb_allow && !conf_warned(r); i++) {
		const struct conf_service *s = &p->exception.allow[i];
		bool all = s->proto == IPPROTO_UDP && !s->away;

		for (uint32_t j = 0; j < p->nb_addresses && all; j++)
			all = is_taken(&c->turn, &p->addresses[j].addr, s->port);
		if (all)
			conf_tell(r, CONF_WARNING, AT(c, ports[port].exception.allow, i, "ports"),
				"udp/%u never comes to the kernel, because every address of port "
				"'%s' has a listener or a relay port there: remove it",
				s->port, p->name);
	}
}

static void warn_exceptions(const struct conf *c, struct conf_report *r)
{
	for (uint32_t i = 0; i < c->nb_ports; i++)
		if (c->ports[i].exception.name != NULL)
			warn_taken(c, i, r);
}

// Warns of ports whose packets the kernel sees as well.
static void warn_seen_twice(const struct conf *c, struct conf_report *r)
{
	for (uint32_t i = 0; i < c->nb_ports; i++) {
		const struct conf_port *p = &c->ports[i];
		const struct conf_port *has = p->shares ? &c->ports[p->on] : p;

		if (p->exception.name == NULL || p->exception.netns != NULL ||
			strncmp(conf_port_device(has, 0), SEEN_TWICE, strlen(SEEN_TWICE)) != 0)
			continue;
		conf_tell(r, CONF_WARNING, AT(c, ports[i].exception.name, 0, "ports"),
			"with " SEEN_TWICE " the kernel receives every packet, too, and answers "
			"clients for the addresses of %s: name a namespace for it",
			p->exception.name);
	}
}

// Warns of limits that clients do not expect.
static void warn_limits(const struct conf *c, struct conf_report *r)
{
	const struct turn_limits *l = &c->turn.limits;

	if (l->permission_s < RFC_PERMISSION_S)
		conf_tell(r, CONF_WARNING,
			AT(c, turn.limits.permission_s, 0, "limits.lifetime.permission"),
			"clients know the %u s of RFC 8656 and refresh shortly before: with %u s "
			"their media stops in between",
			RFC_PERMISSION_S, l->permission_s);
	if (l->channel_s < RFC_CHANNEL_S)
		conf_tell(r, CONF_WARNING,
			AT(c, turn.limits.channel_s, 0, "limits.lifetime.channel"),
			"clients know the %u s of RFC 8656 and refresh shortly before: with %u s "
			"their media stops in between",
			RFC_CHANNEL_S, l->channel_s);
}

// Warns of IPv4-mapped prefixes, which operators deny in other servers: here they mean the IPv4
// addresses, so these entries mean all of IPv4.
static void warn_mapped(
	const struct conf *c, struct conf_report *r, struct prefix *const *field, uint32_t nb)
{
	for (uint32_t i = 0; i < nb && !conf_warned(r); i++) {
		const struct prefix *p = &(*field)[i];
		const bool all = p->len == 96 && addr_is_v4(&p->addr);
		const struct conf_node *n = all ? conf_node_by_field(c->root, field, i) : NULL;

		if (n == NULL || !n->as_ipv6)
			continue;
		conf_tell(r, CONF_WARNING, (struct conf_at){c, field, i, "peers.deny"},
			"denies all IPv4 peers, because an IPv4-mapped address counts as the IPv4 "
			"address: remove it, or write 0.0.0.0/0");
	}
}

static void warn_denied(const struct conf *c, struct conf_report *r)
{
	warn_mapped(c, r, &c->turn.deny, c->turn.nb_deny);
	for (uint32_t i = 0; i < turn_config_nb_realms(&c->turn); i++) {
		const struct turn_realm *m = turn_config_realm(&c->turn, i);

		warn_mapped(c, r, &m->deny, m->nb_deny);
	}
}

static void warn_log(const struct conf *c, struct conf_report *r)
{
	if (c->log.target == CONF_LOG_JOURNAL && c->log.format == CONF_LOG_JSON)
		conf_tell(r, CONF_WARNING, AT(c, log.format, 0, "log.format"),
			"the journal takes fields instead: remove this key, or write to: stderr");
}

void conf_warnings(const struct conf *c, struct conf_report *r)
{
	warn_log(c, r);
	warn_lcores(c, r);
	warn_workers(c, r);
	warn_exceptions(c, r);
	warn_seen_twice(c, r);
	conf_allocations_warn(c, r);
	warn_limits(c, r);
	conf_proxies_warn(c, r);
	conf_warn_files(c, r);
	conf_warn_writable(c, r);
	warn_auth(c, r);
#define X(warn) warn(c, r);
	CONF_WARNINGS(X)
#undef X
	warn_denied(c, r);
	if (!conf_pending(c)) // otherwise conf_resolve does it
		conf_reach_all(c, r);
}
