// SPDX-License-Identifier: BSD-3-Clause
// Matches frames against a few allocations. On a busy worker nearly no frame matches: two look-ups
// in a bitmap of ports rule it out.
#include "capture/capture_filter.h"
#include "protocols.h"
#include "turn_relay_map.h"

static void port_set(struct capture_filter *f, uint16_t port)
{
	f->ports[port / 64] |= UINT64_C(1) << port % 64;
}

static void add_ports(struct capture_filter *f, const struct capture_end *e)
{
	port_set(f, e->client.port);
	if (e->relay_port != 0)
		port_set(f, e->relay_port);
}

void capture_filter_init(struct capture_filter *f, const struct dp_capture_wanted *wanted)
{
	*f = (struct capture_filter){.wanted = *wanted};
}

// The addresses at which peers see a relay address: itself, and those that replace it in pools.
static void add_relays(struct capture_end *e, const struct turn_config *c, const struct addr *relay)
{
	uint32_t index = 0;

	while (index < c->nb_relay && !addr_eq(&c->relay[index], relay))
		index++;
	e->relay[e->nb_relays++] = *relay;
	for (uint32_t p = 1; index < c->nb_relay && p <= c->nb_relay_pools && p < CAPTURE_RELAYS;
		p++)
		e->relay[e->nb_relays++] = turn_relay_pool_addr(c, p, index);
}

bool capture_filter_add(
	struct capture_filter *f, const struct turn_config *c, const struct turn_info *i)
{
	const struct turn_listener *l = &c->listeners[i->listener];
	struct capture_end *e = &f->end[f->nb];

	if (f->nb == DP_CAPTURE_ENDS || i->listener >= c->nb_listeners)
		return false;
	for (unsigned int k = 0; k < f->nb; k++)
		if (f->end[k].id == i->id)
			return false;
	*e = (struct capture_end){.id = i->id,
		.client = i->client,
		.server = l->endpoint,
		.proto = turn_listener_is_stream(l) ? NET_PROTO_TCP : NET_PROTO_UDP,
		.listener = i->listener};
	if (!turn_config_shares_ports(c)) {
		e->relay_port = i->relay.port;
		add_relays(e, c, &i->relay.addr);
	}
	add_ports(f, e);
	f->nb++;
	return true;
}

bool capture_filter_remove(struct capture_filter *f, uint64_t id)
{
	unsigned int k = 0;

	while (k < f->nb && f->end[k].id != id)
		k++;
	if (k == f->nb)
		return false;
	f->end[k] = f->end[--f->nb];
	memset(f->ports, 0, sizeof(f->ports));
	for (k = 0; k < f->nb; k++)
		add_ports(f, &f->end[k]);
	return true;
}

// True if a flow between us and another host belongs to this allocation.
static bool matches_end(const struct capture_end *e, uint8_t proto, const struct endpoint *ours,
	const struct endpoint *remote)
{
	if (proto == e->proto && endpoint_eq(remote, &e->client) && endpoint_eq(ours, &e->server))
		return true;
	if (proto != NET_PROTO_UDP || e->relay_port == 0 || ours->port != e->relay_port)
		return false;
	for (unsigned int i = 0; i < e->nb_relays; i++)
		if (addr_eq(&ours->addr, &e->relay[i]))
			return true;
	return false;
}

bool capture_filter_frame(
	const struct capture_filter *f, const struct capture_look *l, uint64_t *id)
{
	const struct endpoint *a = &l->end[0], *b = &l->end[1];

	*id = 0;
	if (l->flow && (capture_filter_port(f, a->port) || capture_filter_port(f, b->port))) {
		for (unsigned int k = 0; k < f->nb; k++) {
			if (!matches_end(&f->end[k], l->proto, a, b) &&
				!matches_end(&f->end[k], l->proto, b, a))
				continue;
			*id = f->end[k].id;
			return true;
		}
	}
	return f->wanted.of_source && l->ip &&
		(addr_prefix_contains(&f->wanted.source, &l->src) ||
			addr_prefix_contains(&f->wanted.source, &l->dst));
}

bool capture_filter_message(const struct capture_filter *f, const struct endpoint *client,
	uint8_t listener, uint64_t *id)
{
	*id = 0;
	for (unsigned int k = 0; k < f->nb; k++) {
		if (f->end[k].listener != listener || !endpoint_eq(&f->end[k].client, client))
			continue;
		*id = f->end[k].id;
		return true;
	}
	return f->wanted.of_source && addr_prefix_contains(&f->wanted.source, &client->addr);
}
