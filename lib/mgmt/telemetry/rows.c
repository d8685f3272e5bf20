// SPDX-License-Identifier: BSD-3-Clause
// Converts structures of the data path to telemetry data, field by field.
#include <string.h>

#include "link/bonds.h"
#include "log/bursts.h"
#include "dpdk_compat.h"
#include "log/escape.h"
#include "mgmt_features.h"
#include "telemetry/rows.h"

#define TEXT_LEN (3 * TURN_NAME_LEN + 1)
#define ENDPOINT_LEN (ADDR_TEXT_LEN + 8)
#define REALM_LEN 32 // bytes of a realm's name in a listing

char *mgmt_rows_name(const char *name, char *buf, size_t len)
{
	size_t i;

	for (i = 0; name[i] != '\0' && i + 1 < len; i++)
		buf[i] = name[i] == '-' ? '_' : name[i];
	buf[i] = '\0';
	return buf;
}

char *mgmt_rows_text(const char *text, char *buf, size_t len)
{
	mgmt_label(text, buf, len);
	return buf;
}

// A line of a list of counters (counter_list.h): adds a field of the structure s, or a value.
#define F(field, ...) rte_tel_data_add_dict_u64(t, #field, s->field);
#define V(key, value, ...) rte_tel_data_add_dict_u64(t, #key, value);

void mgmt_rows_add_stats(struct rte_tel_data *t, const struct dp_stats *s)
{
	const struct turn_stats *turn = &s->turn;

#define T(field, ...) rte_tel_data_add_dict_u64(t, #field, turn->field);
	DP_STATS(F, V, T)
#undef T
}

void mgmt_rows_add_array(
	struct rte_tel_data *t, const char *name, const uint64_t *v, unsigned int n)
{
	struct rte_tel_data *a = rte_tel_data_alloc();

	if (a == NULL)
		return;
	rte_tel_data_start_array(a, RTE_TEL_U64_VAL);
	for (unsigned int i = 0; i < n; i++)
		rte_tel_data_add_array_u64(a, v[i]);
	if (rte_tel_data_add_dict_container(t, name, a, 0) != 0)
		rte_tel_data_free(a);
}

// Adds a worker's use of time, and a summary of its bursts.
void mgmt_rows_add_worker(struct rte_tel_data *t, const struct dp_stats *s)
{
	DP_WORKER_COUNTERS(F)
	DP_POLL_COUNTERS(F)
	DP_SUPER_COUNTERS(F)
	mgmt_rows_add_array(t, "rx_hist", s->rx_hist, RTE_DIM(s->rx_hist));
	mgmt_rows_add_array(t, "tx_hist", s->tx_hist, RTE_DIM(s->tx_hist));
}

// Adds a fraction as text: telemetry of DPDK 22.11 has only whole numbers.
static void add_ratio(struct rte_tel_data *t, const char *name, uint64_t part, uint64_t whole)
{
	char text[32];

	snprintf(text, sizeof(text), "%.3f", mgmt_bursts_ratio(part, whole));
	rte_tel_data_add_dict_string(t, name, text);
}

static void add_classes(struct rte_tel_data *t)
{
	struct rte_tel_data *a = rte_tel_data_alloc();

	if (a == NULL)
		return;
	rte_tel_data_start_array(a, RTE_TEL_STRING_VAL);
	for (unsigned int i = 0; i < DP_BURST_CLASSES; i++)
		rte_tel_data_add_array_string(a, mgmt_bursts_classes[i]);
	if (rte_tel_data_add_dict_container(t, "classes", a, 0) != 0)
		rte_tel_data_free(a);
}

void mgmt_rows_add_bursts(struct rte_tel_data *t, const struct dp_stats *s)
{
	V(polls, s->rx_bursts + s->rx_empty)
	F(rx_empty)
	F(rx_bursts)
	F(rx)
	F(tx)
	F(handed_in)
	V(no_mbuf, s->drop[DP_DROP_NO_MBUF])
	V(tx_full, s->drop[DP_DROP_TX_FULL])
	DP_SHORT_COUNTERS(F)
	DP_SUPER_COUNTERS(F)
	add_ratio(t, "rx_average", s->rx, s->rx_bursts);
	add_ratio(t, "uso_fraction", s->uso_segments, s->tx);
	add_classes(t);
	mgmt_rows_add_array(t, "rx_hist", s->rx_hist, DP_BURST_CLASSES);
	mgmt_rows_add_array(t, "tx_hist", s->tx_hist, DP_BURST_CLASSES);
	mgmt_rows_add_array(t, "hand_hist", s->hand_hist, DP_BURST_CLASSES);
}

void mgmt_rows_add_drops(struct rte_tel_data *t, const struct dp_stats *s)
{
	char name[64];

	for (unsigned int i = 0; i < DP_DROP_END; i++)
		rte_tel_data_add_dict_u64(
			t, mgmt_rows_name(dp_drop_name(i), name, sizeof(name)), s->drop[i]);
}

void mgmt_rows_add_refusals(struct rte_tel_data *t, const struct dp_stats *s)
{
	char name[64];

	for (unsigned int i = TURN_GRANTED + 1; i < TURN_REFUSAL_END; i++)
		rte_tel_data_add_dict_u64(t,
			mgmt_rows_name(turn_refusal_info(i)->name, name, sizeof(name)),
			s->turn.refused[i]);
}

static void add_trouble(struct rte_tel_data *t, struct port *p)
{
	char text[256];

	rte_tel_data_add_dict_u64(
		t, "trouble", p->ops->trouble != NULL && p->ops->trouble(p, text, sizeof(text)));
}

static void add_port_counters(struct rte_tel_data *t, struct port *p)
{
	struct port_counters counters, *s = &counters;

	p->ops->counters(p, s);
	PORT_COUNTERS(F)
}

void mgmt_rows_add_port(struct rte_tel_data *t, struct port *p)
{
	char text[128];

	rte_tel_data_add_dict_string(t, "name", mgmt_rows_text(p->name, text, sizeof(text)));
	rte_tel_data_add_dict_string(t, "kind", p->ops->kind);
	rte_tel_data_add_dict_string(t, "driver", p->driver);
	snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", p->mac[0], p->mac[1],
		p->mac[2], p->mac[3], p->mac[4], p->mac[5]);
	rte_tel_data_add_dict_string(t, "mac", text);
	rte_tel_data_add_dict_u64(t, "link", p->ops->link(p));
	add_trouble(t, p);
	rte_tel_data_add_dict_u64(t, "mtu", p->mtu);
	rte_tel_data_add_dict_u64(t, "vlan", p->vlan);
	rte_tel_data_add_dict_string(
		t, "on", p->on != NULL ? mgmt_rows_text(p->on->name, text, sizeof(text)) : "");
	rte_tel_data_add_dict_u64(t, "rx_queues", p->nb_rxq);
	rte_tel_data_add_dict_u64(t, "tx_queues", p->nb_txq);
	rte_tel_data_add_dict_u64(t, "rx_ring", p->rx_ring);
	rte_tel_data_add_dict_u64(t, "tx_ring", p->tx_ring);
	rte_tel_data_add_dict_u64(t, "rss", p->rss);
	add_port_counters(t, p);
	rte_tel_data_add_dict_string(t, "offloads", port_offloads(p, text, sizeof(text)));
	if (p->ops->members != NULL)
		rte_tel_data_add_dict_string(t, "members", mgmt_bonds_text(p, text, sizeof(text)));
}

// Adds only one of the driver's two reasons: a reply must have room for all ports.
void mgmt_rows_add_steering(
	struct rte_tel_data *t, const struct dp *d, unsigned int port, bool is_v4)
{
	struct dp_steering s;
	char text[128];

	if (!dp_steering(d, port, is_v4, &s))
		return;
	rte_tel_data_add_dict_string(
		t, "port", mgmt_rows_text(dp_port(d, port)->name, text, sizeof(text)));
	rte_tel_data_add_dict_string(t, "family", is_v4 ? "ipv4" : "ipv6");
	rte_tel_data_add_dict_string(t, "step", s.step);
	rte_tel_data_add_dict_string(t, "why", mgmt_rows_text(s.reason, text, sizeof(text)));
	rte_tel_data_add_dict_u64(t, "rules", s.rules);
	rte_tel_data_add_dict_u64(t, "hits", s.hits);
	rte_tel_data_add_dict_u64(t, "handed_over", s.handed_over);
	rte_tel_data_add_dict_u64(t, "degraded", s.degraded);
}

static void add_classes_of(struct rte_tel_data *t, const char *direction, const uint64_t *v)
{
	char name[64];

	for (unsigned int i = 0; i < DP_EXCEPTION_CLASSES; i++) {
		snprintf(name, sizeof(name), "%s_kernel_%s", direction, dp_exception_classes[i]);
		rte_tel_data_add_dict_u64(t, name, v[i]);
	}
}

void mgmt_rows_add_exception(struct rte_tel_data *t, const char *port, const struct dp_exception *s)
{
	char text[128];

	rte_tel_data_add_dict_string(t, "port", mgmt_rows_text(port, text, sizeof(text)));
	rte_tel_data_add_dict_string(t, "interface", s->interface);
	rte_tel_data_add_dict_string(t, "netns", s->netns);
	rte_tel_data_add_dict_u64(t, "link", s->port->ops->link(s->port));
	add_trouble(t, s->port);
	rte_tel_data_add_dict_string(t, "offloads", port_offloads(s->port, text, sizeof(text)));
	add_classes_of(t, "to", s->to_kernel);
	add_classes_of(t, "from", s->from_kernel);
	DP_EXCEPTION_COUNTERS(F)
}

static void add_addr(struct rte_tel_data *t, const char *name, const struct addr *a)
{
	static const struct addr none;
	char text[ADDR_TEXT_LEN];

	rte_tel_data_add_dict_string(
		t, name, addr_eq(a, &none) ? "" : addr_format(a, text, sizeof(text)));
}

void mgmt_rows_add_learned(struct rte_tel_data *t, const struct dp_learned *l)
{
	char text[128];

	rte_tel_data_add_dict_string(t, "port", mgmt_rows_text(l->port, text, sizeof(text)));
	rte_tel_data_add_dict_string(t, "interface", l->interface);
	add_addr(t, "address", &l->addr);
	rte_tel_data_add_dict_u64(t, "lost", l->lost);
	add_addr(t, "instead", &l->replacement);
	add_addr(t, "gateway", &l->gateway);
	add_addr(t, "router", &l->router);
}

void mgmt_rows_add_certificate(struct rte_tel_data *t, const struct stream_certificate *c)
{
	char text[128];

	rte_tel_data_add_dict_string(t, "certificate", mgmt_rows_text(c->path, text, sizeof(text)));
	rte_tel_data_add_dict_u64(t, "not_after", (uint64_t)c->validity.until);
	rte_tel_data_add_dict_u64(t, "renew", (uint64_t)c->validity.renew);
}

static void add_usage(struct rte_tel_data *t, const struct turn_usage *u)
{
	static const char *const lost[] = {[TURN_LOSS_PERMISSION] = "lost_permission",
		[TURN_LOSS_SIZE] = "lost_size",
		[TURN_LOSS_WAY] = "lost_way",
		[TURN_LOSS_LIMIT] = "lost_limit",
		[TURN_LOSS_OTHER] = "lost_other",
		[TURN_LOSS_ALLOCATION] = "lost_allocation_rate",
		[TURN_LOSS_USER] = "lost_user_rate",
		[TURN_LOSS_REALM] = "lost_realm_rate"};
	_Static_assert(RTE_DIM(lost) == TURN_LOSS_END, "every class of losses");

	rte_tel_data_add_dict_u64(t, "rx", u->leg[TURN_FROM_CLIENT].datagrams);
	rte_tel_data_add_dict_u64(t, "tx", u->leg[TURN_FROM_PEER].datagrams);
	rte_tel_data_add_dict_u64(t, "rx_bytes", u->leg[TURN_FROM_CLIENT].bytes);
	rte_tel_data_add_dict_u64(t, "tx_bytes", u->leg[TURN_FROM_PEER].bytes);
	for (unsigned int i = 0; i < TURN_LOSS_END; i++)
		rte_tel_data_add_dict_u64(t, lost[i], u->lost[i]);
}

void mgmt_rows_add_allocation(struct rte_tel_data *t, const struct turn_info *i, const char *realm)
{
	char text[ENDPOINT_LEN], user[TEXT_LEN];

	rte_tel_data_add_dict_u64(t, "id", i->id);
	rte_tel_data_add_dict_string(
		t, "client", addr_format_endpoint(&i->client, text, sizeof(text)));
	rte_tel_data_add_dict_string(
		t, "relay", addr_format_endpoint(&i->relay, text, sizeof(text)));
	rte_tel_data_add_dict_string(t, "told", addr_format_endpoint(&i->told, text, sizeof(text)));
	rte_tel_data_add_dict_string(t, "user", mgmt_rows_text(i->user, user, sizeof(user)));
	// the first realm's name is in /slipring/config: a page has no room for it in each row
	if (i->realm != 0)
		rte_tel_data_add_dict_string(t, "realm", mgmt_rows_text(realm, user, REALM_LEN));
	rte_tel_data_add_dict_u64(t, "expires", i->expires_s);
	add_usage(t, &i->usage);
	rte_tel_data_add_dict_u64(t, "peers", i->permissions);
	rte_tel_data_add_dict_u64(t, "channels", i->channels);
	if (i->is_tcp) {
		rte_tel_data_add_dict_string(t, "protocol", "tcp");
		rte_tel_data_add_dict_u64(t, "connections", i->connections);
	}
}

static void add_limits(struct rte_tel_data *t, const struct turn_limits *l)
{
	rte_tel_data_add_dict_u64(t, "limit_allocations", l->allocations);
	rte_tel_data_add_dict_u64(t, "limit_per_user", l->per_user);
	rte_tel_data_add_dict_u64(t, "limit_per_source", l->per_source);
	rte_tel_data_add_dict_u64(t, "lifetime_default", l->lifetime_default_s);
	rte_tel_data_add_dict_u64(t, "lifetime_max", l->lifetime_max_s);
	rte_tel_data_add_dict_u64(t, "unauthenticated_rate", l->unauthenticated.rate);
	rte_tel_data_add_dict_u64(t, "stale_nonce_rate", l->stale_nonce.rate);
	rte_tel_data_add_dict_u64(t, "guess_rate", l->guesses.rate);
	rte_tel_data_add_dict_u64(t, "binding_rate", l->binding.rate);
}

static uint64_t count_externals(const struct conf *c)
{
	static const struct addr none;
	uint64_t n = 0;

	for (uint32_t i = 0; i < c->turn.nb_local; i++)
		n += !addr_eq(&c->turn.local[i].external, &none);
	return n;
}

static uint64_t count_routes(const struct conf *c)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < c->nb_ports; i++)
		n += c->ports[i].nb_routes;
	return n;
}

// Adds facts that identify a configuration. Secrets are counted, never shown.
void mgmt_rows_add_config(struct rte_tel_data *t, const struct conf *c)
{
	char text[128];

	rte_tel_data_add_dict_string(t, "path", mgmt_rows_text(c->path, text, sizeof(text)));
	rte_tel_data_add_dict_string(
		t, "realm", mgmt_rows_text(c->turn.first.name, text, sizeof(text)));
	rte_tel_data_add_dict_u64(t, "workers", c->workers);
	rte_tel_data_add_dict_string(t, "idle", conf_idle_name(c->idle));
	rte_tel_data_add_dict_u64(t, "ports", c->nb_ports);
	rte_tel_data_add_dict_u64(t, "listeners", c->turn.nb_listeners);
	rte_tel_data_add_dict_u64(t, "relay_addresses", c->turn.nb_relay);
	rte_tel_data_add_dict_u64(t, "relay_pools", c->turn.nb_relay_pools);
	rte_tel_data_add_dict_u64(t, "external_addresses", count_externals(c));
	rte_tel_data_add_dict_u64(t, "routes", count_routes(c));
	rte_tel_data_add_dict_string(
		t, "relay_mode", turn_config_shares_ports(&c->turn) ? "shared" : "unique");
	rte_tel_data_add_dict_u64(t, "relay_port_low", c->turn.port_lo);
	rte_tel_data_add_dict_u64(t, "relay_port_high", c->turn.port_hi);
	rte_tel_data_add_dict_u64(t, "quarantine", c->turn.quarantine_s);
	rte_tel_data_add_dict_u64(t, "realms", turn_config_nb_realms(&c->turn));
	rte_tel_data_add_dict_u64(t, "users", c->turn.first.nb_users);
	rte_tel_data_add_dict_u64(t, "secrets", c->turn.first.nb_secrets);
#define X(name, field) rte_tel_data_add_dict_u64(t, name, c->turn.field);
	MGMT_NUMBERS(X)
#undef X
	rte_tel_data_add_dict_u64(t, "nonce_lifetime", c->turn.nonce_lifetime_s);
	rte_tel_data_add_dict_u64(t, "hairpin", c->turn.hairpin);
	rte_tel_data_add_dict_u64(t, "allow", c->turn.nb_allow);
	rte_tel_data_add_dict_u64(t, "deny", c->turn.nb_deny);
	add_limits(t, &c->turn.limits);
	rte_tel_data_add_dict_u64(t, "limit_connections", c->streams.connections);
	rte_tel_data_add_dict_u64(t, "limit_sessions", c->dtls.sessions);
}
