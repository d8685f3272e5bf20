// SPDX-License-Identifier: BSD-3-Clause
// Replaces addresses that the network has given to a running server with newer ones.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "changes/copies.h"
#include "checks/checks.h"
#include "conf.h"
#include "conf_changes.h"
#include "values/addrs.h"

static bool is_none(const struct addr *a)
{
	return (a->d[0] | a->d[1]) == 0;
}

// Returns the address that replaces an address of running.
static struct addr find_moved(const struct conf *running, const struct conf_learned *list,
	uint32_t nb, const struct addr *was)
{
	for (uint32_t i = 0; i < nb; i++)
		if (addr_eq(&running->ports[list[i].port].addresses[list[i].index].addr, was))
			return list[i].addr;
	return *was;
}

// Sets the router that came with an address, unless the file names one. p has room for it.
static void put_gateway(struct conf_port *p, const struct addr *gateway)
{
	const bool is_v4 = addr_is_v4(gateway);

	if (is_none(gateway) || !p->gateway_learned[is_v4])
		return;
	for (uint32_t i = 0; i < p->nb_gateways; i++) {
		if (addr_is_v4(&p->gateways[i]) != is_v4)
			continue;
		p->gateways[i] = *gateway;
		return;
	}
	p->gateways[p->nb_gateways++] = *gateway;
}

// Gives m its own copies of the arrays that it would otherwise share with running.
static bool own_arrays(struct conf *m)
{
	bool good = true;

	m->turn.relay = copies_of(m->turn.relay, m->turn.nb_relay, sizeof(*m->turn.relay));
	for (uint32_t i = 0; i < m->nb_ports; i++) {
		struct conf_port *p = &m->ports[i];
		struct addr *gateways = calloc(p->nb_gateways + (size_t)2, sizeof(*gateways));

		good = good && gateways != NULL;
		if (gateways != NULL && p->nb_gateways > 0)
			memcpy(gateways, p->gateways, p->nb_gateways * sizeof(*gateways));
		p->gateways = gateways;
	}
	return good && m->turn.relay != NULL;
}

static void put_addresses(
	struct conf *m, const struct conf *running, const struct conf_learned *list, uint32_t nb)
{
	for (uint32_t i = 0; i < nb; i++) {
		struct conf_port *p = &m->ports[list[i].port];

		p->addresses[list[i].index].addr = list[i].addr;
		p->addresses[list[i].index].prefix_len = list[i].prefix_len;
		put_gateway(p, &list[i].gateway);
	}
	for (uint32_t i = 0; i < m->turn.nb_listeners; i++)
		m->turn.listeners[i].endpoint.addr =
			find_moved(running, list, nb, &running->turn.listeners[i].endpoint.addr);
	for (uint32_t i = 0; i < m->turn.nb_relay; i++)
		m->turn.relay[i] = find_moved(running, list, nb, &running->turn.relay[i]);
}

// Returns why an address, or the router that came with it, cannot be used, or NULL if it can.
static const char *addr_fault(const struct conf *m, const struct conf_learned *l)
{
	const struct turn_config *t = &m->turn;
	uint32_t same = 0;

	if (conf_addrs_class(&l->addr) != NULL)
		return conf_addrs_class(&l->addr);
	for (uint32_t i = 0; i < t->nb_local; i++) {
		same += addr_eq(&t->local[i].addr, &l->addr);
		if (addr_eq(&t->local[i].addr, &l->gateway))
			return "a network whose router has an address of this box";
		if (addr_eq(&t->local[i].external, &l->addr))
			return "the external address of this box";
	}
	if (same > 1)
		return "an address of this box already";
	for (uint32_t i = 0; i < t->nb_gateways; i++)
		if (addr_eq(&t->gateways[i], &l->addr))
			return "a router of this box";
	return NULL;
}

void conf_moved_free(struct conf *m)
{
	if (m == NULL)
		return;
	free(m->turn.relay);
	for (uint32_t i = 0; i < m->nb_ports; i++)
		free(m->ports[i].gateways);
	conf_merge_free(m);
}

struct conf *conf_move(
	const struct conf *running, const struct conf_learned *list, uint32_t nb, char *error)
{
	struct conf *m = copies_arrays(running);
	char text[ADDR_TEXT_LEN];

	snprintf(error, CONF_ERROR_LEN, "out of memory");
	if (m == NULL)
		return NULL;
	if (!own_arrays(m)) {
		conf_moved_free(m);
		return NULL;
	}
	put_addresses(m, running, list, nb);
	if (!conf_ports_list(m)) {
		conf_moved_free(m);
		return NULL;
	}
	for (uint32_t i = 0; i < nb; i++) {
		const char *fault = addr_fault(m, &list[i]);

		if (fault == NULL)
			continue;
		snprintf(error, CONF_ERROR_LEN, "port %s: the network has given %s, which is %s",
			m->ports[list[i].port].name, addr_format(&list[i].addr, text, sizeof(text)),
			fault);
		conf_moved_free(m);
		return NULL;
	}
	return m;
}

void conf_moved_adopt(struct conf *running, struct conf *m)
{
	struct turn_config *r = &running->turn;

	for (uint32_t i = 0; i < running->nb_ports; i++) {
		struct conf_port *p = &running->ports[i], *src = &m->ports[i];
		struct addr *gateways = p->gateways;

		for (uint32_t k = 0; k < p->nb_addresses; k++) {
			p->addresses[k].addr = src->addresses[k].addr;
			p->addresses[k].prefix_len = src->addresses[k].prefix_len;
		}
		p->gateways = src->gateways;
		p->nb_gateways = src->nb_gateways;
		src->gateways = gateways;
	}
	for (uint32_t i = 0; i < r->nb_listeners; i++)
		r->listeners[i].endpoint.addr = m->turn.listeners[i].endpoint.addr;
	for (uint32_t i = 0; i < r->nb_relay; i++)
		r->relay[i] = m->turn.relay[i];
	copies_take_gathered(r, &m->turn);
}
