// SPDX-License-Identifier: BSD-3-Clause
// Moves the hot keys (hot.c) of a file that was read again into the running configuration.
#include <stdlib.h>
#include <string.h>

#include "changes/copies.h"
#include "changes/said.h"
#include "checks/checks.h"
#include "conf.h"
#include "conf_changes.h"
#include "conf_features.h"
#include "problems.h"

// --- the keys of hot.c ---------------------------------------------------------------------------

static void take_turn(struct turn_config *dst, const struct turn_config *src)
{
	dst->first.users = src->first.users;
	dst->first.nb_users = src->first.nb_users;
	dst->first.secrets = src->first.secrets;
	dst->first.nb_secrets = src->first.nb_secrets;
	dst->rest_expiry = src->rest_expiry;
	dst->nonce_secret = src->nonce_secret;
	dst->nonce_lifetime_s = src->nonce_lifetime_s;
	dst->allow = src->allow;
	dst->nb_allow = src->nb_allow;
	dst->deny = src->deny;
	dst->nb_deny = src->nb_deny;
	dst->deny_listed = src->deny_listed;
	dst->nb_deny_listed = src->nb_deny_listed;
	dst->client_allow = src->client_allow;
	dst->nb_client_allow = src->nb_client_allow;
	dst->client_deny = src->client_deny;
	dst->nb_client_deny = src->nb_client_deny;
	dst->client_deny_listed = src->client_deny_listed;
	dst->nb_client_deny_listed = src->nb_client_deny_listed;
	dst->nat64 = src->nat64;
	dst->nb_nat64 = src->nb_nat64;
	dst->hairpin = src->hairpin;
	dst->rfc5766_channels = src->rfc5766_channels;
	dst->icmp_tell = src->icmp_tell;
	dst->default_family = src->default_family;
	dst->interim_s = src->interim_s;
	dst->tells_peers = src->tells_peers;
	dst->limits = src->limits;
#define X(field) dst->field = src->field;
	CONF_HOT_FIELDS(X)
#undef X
}

// Copies all values in the structs themselves, and the pointers to what they refer to.
static void take_values(struct conf *dst, const struct conf *src)
{
	take_turn(&dst->turn, &src->turn);
	dst->lower_ends = src->lower_ends;
	dst->idle = src->idle;
	dst->idle_sleep_us = src->idle_sleep_us;
	dst->requests = src->requests;
	dst->handshakes = src->handshakes;
	dst->icmp_rate = src->icmp_rate;
	dst->icmp_errors_in = src->icmp_errors_in;
	dst->icmp_errors_out = src->icmp_errors_out;
	dst->icmp_errors_each = src->icmp_errors_each;
	dst->icmp_unreachable = src->icmp_unreachable;
	dst->streams.per_source = src->streams.per_source;
	dst->streams.per_network = src->streams.per_network;
	dst->streams.trusted = src->streams.trusted;
	dst->streams.nb_trusted = src->streams.nb_trusted;
	dst->streams.handshake_s = src->streams.handshake_s;
	dst->streams.idle_s = src->streams.idle_s;
	dst->dtls.per_source = src->dtls.per_source;
	dst->dtls.per_network = src->dtls.per_network;
	dst->dtls.handshake_s = src->dtls.handshake_s;
	dst->dtls.idle_s = src->dtls.idle_s;
	dst->tls = src->tls;
	dst->log = src->log;
	dst->records = src->records;
	// The command does not change: the process that runs it got it at the start.
	dst->drain.deadline_s = src->drain.deadline_s;
	dst->drain.below = src->drain.below;
	dst->said = src->said;
}

// --- arrays: the two files may have the entries in different order -------------------------------

static void take_listener(struct turn_listener *dst, const struct turn_listener *src)
{
	dst->dscp = src->dscp;
	dst->entry = src->entry;
	dst->tls = src->tls;
	dst->proxy = src->proxy;
#define X(field, nb) dst->field = src->field, dst->nb = src->nb;
	CONF_LISTENER_TEXTS(X)
#undef X
}

static void take_listeners(struct turn_config *dst, const struct turn_config *src)
{
	for (uint32_t i = 0; i < dst->nb_listeners; i++) {
		struct turn_listener *l = &dst->listeners[i];

		for (uint32_t k = 0; k < src->nb_listeners; k++) {
			const struct turn_listener *candidate = &src->listeners[k];

			if (candidate->transport == l->transport &&
				candidate->endpoint.port == l->endpoint.port &&
				addr_eq(&candidate->endpoint.addr, &l->endpoint.addr))
				take_listener(l, candidate);
		}
	}
}

static void take_port(struct conf_port *dst, const struct conf_port *src)
{
	dst->gateways = src->gateways;
	dst->nb_gateways = src->nb_gateways;
	memcpy(dst->gateway_learned, src->gateway_learned, sizeof(dst->gateway_learned));
	dst->routes = src->routes;
	dst->nb_routes = src->nb_routes;
	for (uint32_t i = 0; i < dst->nb_addresses; i++) {
		const struct conf_address *a = conf_port_address(src, &dst->addresses[i].addr);

		if (a != NULL)
			dst->addresses[i].external = a->external;
	}
}

static struct conf_port *port_named(const struct conf *c, const char *name)
{
	for (uint32_t i = 0; i < c->nb_ports; i++)
		if (strcmp(c->ports[i].name, name) == 0)
			return &c->ports[i];
	return NULL;
}

static void take_hot_keys(struct conf *dst, const struct conf *src)
{
	take_values(dst, src);
	take_listeners(&dst->turn, &src->turn);
	for (uint32_t i = 0; i < dst->nb_ports; i++) {
		const struct conf_port *p = port_named(src, dst->ports[i].name);

		if (p != NULL)
			take_port(&dst->ports[i], p);
	}
}

// --- values and arrays together ------------------------------------------------------------------

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
	take_hot_keys(m, fresh);
	if (conf_ports_list(m))
		return m;
	conf_merge_free(m);
	return NULL;
}

void copies_take_gathered(struct turn_config *dst, struct turn_config *src)
{
	free(dst->local);
	free(dst->gateways);
	free(dst->routes);
	dst->local = src->local;
	dst->gateways = src->gateways;
	dst->routes = src->routes;
	dst->nb_local = src->nb_local;
	dst->nb_gateways = src->nb_gateways;
	dst->nb_routes = src->nb_routes;
	dst->apart = src->apart;
	src->local = NULL;
	src->gateways = NULL;
	src->routes = NULL;
}

void conf_adopt(struct conf *running, struct conf *fresh, struct conf *merged)
{
	take_hot_keys(fresh, running);
	take_hot_keys(running, merged);
	copies_take_gathered(&running->turn, &merged->turn);
}

// --- loading -------------------------------------------------------------------------------------

// Lists the addresses that the network has given to running, for the pending entries of fresh that
// match them. Includes the gateway of that family if fresh names no gateway. Returns the number of
// addresses.
static uint32_t list_learned(const struct conf *running, const struct conf *fresh,
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
	n = list_learned(running, c, list);
	if (n == 0 || conf_resolve(c, list, n, NULL, error) == 0)
		return c; // to use addresses that are still pending, the server must restart
	if (r != NULL)
		conf_tell_report(r, CONF_ERROR, error);
	conf_free(c);
	return NULL;
}

struct conf *conf_load_again(const struct conf *running, struct conf_report *r)
{
	struct conf *c = conf_load_and_report(running->path, r, &running->said->hash);

	return c != NULL ? conf_learn_again(running, c, r) : NULL;
}
