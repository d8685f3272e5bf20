// SPDX-License-Identifier: BSD-3-Clause
// Takes over from a file that was read again what a running server can take up: the keys of hot.c.
#include <stdlib.h>
#include <string.h>

#include "changes/copies.h"
#include "changes/said.h"
#include "checks/ports.h"
#include "conf.h"
#include "conf_changes.h"
#include "tell.h"

// --- what hot.c names ----------------------------------------------------------------------------

static void take_turn(struct turn_config *to, const struct turn_config *from)
{
	to->users = from->users;
	to->nb_users = from->nb_users;
	to->secrets = from->secrets;
	to->nb_secrets = from->nb_secrets;
	to->rest_expiry = from->rest_expiry;
	to->oauth = from->oauth;
	to->origins = from->origins;
	to->nb_origins = from->nb_origins;
	to->realms = from->realms;
	to->nb_realms = from->nb_realms;
	to->nonce_secret = from->nonce_secret;
	to->nonce_lifetime_s = from->nonce_lifetime_s;
	to->allow = from->allow;
	to->nb_allow = from->nb_allow;
	to->deny = from->deny;
	to->nb_deny = from->nb_deny;
	to->deny_listed = from->deny_listed;
	to->nb_deny_listed = from->nb_deny_listed;
	to->nat64 = from->nat64;
	to->nb_nat64 = from->nb_nat64;
	to->discovery = from->discovery;
	to->nb_discovery = from->nb_discovery;
	to->discovery_ports[0] = from->discovery_ports[0];
	to->discovery_ports[1] = from->discovery_ports[1];
	to->hairpin = from->hairpin;
	to->rfc5766_channels = from->rfc5766_channels;
	to->icmp_tell = from->icmp_tell;
	to->default_family = from->default_family;
	to->grace_s = from->grace_s;
	to->interim_s = from->interim_s;
	to->limits = from->limits;
}

// All that stands in the structs themselves, with what it points to.
static void take_values(struct conf *to, const struct conf *from)
{
	take_turn(&to->turn, &from->turn);
	to->lower_ends = from->lower_ends;
	to->idle = from->idle;
	to->idle_sleep_us = from->idle_sleep_us;
	to->requests = from->requests;
	to->handshakes = from->handshakes;
	to->icmp_rate = from->icmp_rate;
	to->icmp_errors_in = from->icmp_errors_in;
	to->icmp_errors_out = from->icmp_errors_out;
	to->icmp_errors_each = from->icmp_errors_each;
	to->icmp_unreachable = from->icmp_unreachable;
	to->streams.per_source = from->streams.per_source;
	to->streams.per_network = from->streams.per_network;
	to->streams.trusted = from->streams.trusted;
	to->streams.nb_trusted = from->streams.nb_trusted;
	to->streams.handshake_s = from->streams.handshake_s;
	to->streams.idle_s = from->streams.idle_s;
	to->dtls.per_source = from->dtls.per_source;
	to->dtls.per_network = from->dtls.per_network;
	to->dtls.handshake_s = from->dtls.handshake_s;
	to->dtls.idle_s = from->dtls.idle_s;
	to->tls = from->tls;
	to->log = from->log;
	to->records = from->records;
	to->alternate = from->alternate;
	// the command stays as it was: the process that runs it was told at the start
	to->drain.alternates = from->drain.alternates;
	to->drain.nb_alternates = from->drain.nb_alternates;
	to->drain.deadline_s = from->drain.deadline_s;
	to->drain.below = from->drain.below;
	to->said = from->said;
}

// --- what stands in arrays: entries may have another order in the other file ---------------------

static void take_listener(struct turn_listener *to, const struct turn_listener *from)
{
	to->dscp = from->dscp;
	to->entry = from->entry;
	to->realms = from->realms;
	to->nb_realms = from->nb_realms;
	to->tls = from->tls;
	to->proxy = from->proxy;
}

static void take_listeners(struct turn_config *to, const struct turn_config *from)
{
	for (uint32_t i = 0; i < to->nb_listeners; i++) {
		struct turn_listener *l = &to->listeners[i];

		for (uint32_t k = 0; k < from->nb_listeners; k++) {
			const struct turn_listener *other = &from->listeners[k];

			if (other->transport == l->transport && other->at.port == l->at.port &&
				addr_eq(&other->at.addr, &l->at.addr))
				take_listener(l, other);
		}
	}
}

static void take_port(struct conf_port *to, const struct conf_port *from)
{
	to->gateways = from->gateways;
	to->nb_gateways = from->nb_gateways;
	memcpy(to->gateway_learned, from->gateway_learned, sizeof(to->gateway_learned));
	to->routes = from->routes;
	to->nb_routes = from->nb_routes;
	for (uint32_t i = 0; i < to->nb_addresses; i++) {
		const struct conf_address *a = conf_port_address(from, &to->addresses[i].addr);

		if (a != NULL)
			to->addresses[i].external = a->external;
	}
}

static struct conf_port *port_named(const struct conf *c, const char *name)
{
	for (uint32_t i = 0; i < c->nb_ports; i++)
		if (strcmp(c->ports[i].name, name) == 0)
			return &c->ports[i];
	return NULL;
}

static void take(struct conf *to, const struct conf *from)
{
	take_values(to, from);
	take_listeners(&to->turn, &from->turn);
	for (uint32_t i = 0; i < to->nb_ports; i++) {
		const struct conf_port *p = port_named(from, to->ports[i].name);

		if (p != NULL)
			take_port(&to->ports[i], p);
	}
}

// --- both together -------------------------------------------------------------------------------

void *copies_of(const void *list, size_t n, size_t size)
{
	void *copy = calloc(n + 1, size);

	if (copy != NULL && n > 0)
		memcpy(copy, list, n * size);
	return copy;
}

void conf_merge_free(struct conf *m)
{
	if (m == NULL)
		return;
	for (uint32_t i = 0; i < m->nb_ports; i++)
		free(m->ports[i].addresses);
	free(m->ports);
	free(m->turn.listeners);
	free(m->turn.local);
	free(m->turn.gateways);
	free(m->turn.routes);
	free(m);
}

struct conf *copies_arrays(const struct conf *running)
{
	struct conf *m = copies_of(running, 1, sizeof(*running));
	bool good;

	if (m == NULL)
		return NULL;
	m->turn.local = NULL;
	m->turn.gateways = NULL;
	m->turn.routes = NULL;
	m->ports = copies_of(running->ports, running->nb_ports, sizeof(*m->ports));
	m->nb_ports = m->ports != NULL ? running->nb_ports : 0;
	m->turn.listeners = copies_of(
		running->turn.listeners, running->turn.nb_listeners, sizeof(*m->turn.listeners));
	good = m->ports != NULL && m->turn.listeners != NULL;
	for (uint32_t i = 0; i < m->nb_ports; i++) {
		struct conf_port *p = &m->ports[i];

		p->addresses = copies_of(p->addresses, p->nb_addresses, sizeof(*p->addresses));
		good = good && p->addresses != NULL;
	}
	if (good)
		return m;
	conf_merge_free(m);
	return NULL;
}

struct conf *conf_merge(const struct conf *running, const struct conf *fresh)
{
	struct conf *m = copies_arrays(running);

	if (m == NULL)
		return NULL;
	take(m, fresh);
	if (conf_ports_list(m))
		return m;
	conf_merge_free(m);
	return NULL;
}

void copies_take_gathered(struct turn_config *to, struct turn_config *from)
{
	free(to->local);
	free(to->gateways);
	free(to->routes);
	to->local = from->local;
	to->gateways = from->gateways;
	to->routes = from->routes;
	to->nb_local = from->nb_local;
	to->nb_gateways = from->nb_gateways;
	to->nb_routes = from->nb_routes;
	to->apart = from->apart;
	from->local = NULL;
	from->gateways = NULL;
	from->routes = NULL;
}

void conf_adopt(struct conf *running, struct conf *fresh, struct conf *merged)
{
	take(fresh, running);
	take(running, merged);
	copies_take_gathered(&running->turn, &merged->turn);
}

// --- loading -------------------------------------------------------------------------------------

// What the network has given to running, in the places of fresh that wait for it. A gateway of its
// family stays where fresh names none. Returns how many.
static uint32_t learned(const struct conf *running, const struct conf *fresh,
	struct conf_learned list[2 * CONF_PORTS_MAX])
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < fresh->nb_ports; i++) {
		const struct conf_port *p = &fresh->ports[i], *r = port_named(running, p->name);

		for (uint32_t k = 0; r != NULL && k < p->nb_addresses * r->nb_addresses; k++) {
			const uint32_t index = k / r->nb_addresses;
			const struct conf_address *a = &r->addresses[k % r->nb_addresses];

			if (!p->addresses[index].pending || a->learn != p->addresses[index].learn)
				continue;
			list[n] = (struct conf_learned){.port = i,
				.index = index,
				.addr = a->addr,
				.prefix_len = a->prefix_len};
			for (uint32_t g = 0; g < r->nb_gateways; g++)
				if (addr_is_v4(&r->gateways[g]) == addr_is_v4(&a->addr))
					list[n].gateway = r->gateways[g];
			n++;
		}
	}
	return n;
}

struct hash_key conf_said_key(const struct conf *c)
{
	return c->said->hash;
}

struct conf *conf_learn_again(const struct conf *running, struct conf *c, struct conf_report *r)
{
	struct conf_learned list[2 * CONF_PORTS_MAX];
	char error[CONF_ERROR_LEN];
	uint32_t n;

	if (!conf_pending(c))
		return c;
	n = learned(running, c, list);
	if (n == 0 || conf_resolve(c, list, n, NULL, error) == 0)
		return c; // what waits still is a change that takes a restart
	if (r != NULL)
		conf_tell_report(r, CONF_ERROR, error);
	conf_free(c);
	return NULL;
}

struct conf *conf_load_again(const struct conf *running, struct conf_report *r)
{
	struct conf *c = conf_load_said(running->path, r, &running->said->hash);

	return c != NULL ? conf_learn_again(running, c, r) : NULL;
}
