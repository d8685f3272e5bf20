// SPDX-License-Identifier: BSD-3-Clause
// Checks relay.pools: the relay addresses that some peers see.
#include "checks/checks.h"

#include <errno.h>
#include <string.h>

#include "conf.h"
#include "reading/ctx.h"
#include "reading/fail.h"
#include "reading/node.h"

static uint32_t count_family(const struct addr *a, uint32_t nb, bool is_v4)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < nb; i++)
		n += addr_is_v4(&a[i]) == is_v4;
	return n;
}

static bool is_among(const struct addr *list, uint32_t nb, const struct addr *a)
{
	for (uint32_t i = 0; i < nb; i++)
		if (addr_eq(&list[i], a))
			return true;
	return false;
}

// Returns why an address of a pool is not usable, or NULL if it is.
static const char *addr_fault(const struct turn_config *t, uint32_t pool, uint32_t i)
{
	const struct addr *a = &t->relay_pools[pool].addresses[i];

	if (!conf_ports_own(t, a))
		return "is not an address of any port: add it to ports[].addresses (this list "
		       "takes no external addresses)";
	if (is_among(t->relay, t->nb_relay, a))
		return "is in relay.addresses: a pool has addresses of its own";
	for (uint32_t k = 0; k <= pool; k++)
		if (is_among(t->relay_pools[k].addresses,
			    k < pool ? t->relay_pools[k].nb_addresses : i, a))
			return "is in another pool, too: remove one";
	for (uint32_t k = 0; k < t->nb_listeners; k++)
		if (!turn_listener_is_stream(&t->listeners[k]) &&
			addr_eq(&t->listeners[k].endpoint.addr, a) &&
			t->listeners[k].endpoint.port >= t->port_lo &&
			t->listeners[k].endpoint.port <= t->port_hi)
			return "has a listener on a relay port: move the listener out of "
			       "relay.ports";
	return NULL;
}

static int check_addresses(struct conf_ctx *x, uint32_t pool)
{
	const struct turn_config *t = &x->conf->turn;
	const struct turn_relay_pool *p = &t->relay_pools[pool];
	char text[ADDR_TEXT_LEN];

	for (uint32_t i = 0; i < p->nb_addresses; i++) {
		const char *fault = addr_fault(t, pool, i);

		if (fault != NULL)
			return conf_fail(x, conf_node_by_field(x->root, &p->addresses, i), "%s %s",
				addr_format(&p->addresses[i], text, sizeof(text)), fault);
	}
	for (int is_v4 = 1; is_v4 >= 0; is_v4--) {
		const uint32_t nb = count_family(p->addresses, p->nb_addresses, is_v4);
		const uint32_t relays = count_family(t->relay, t->nb_relay, is_v4);

		if (nb != 0 && nb != relays)
			return conf_fail(x, conf_node_by_field(x->root, &p->addresses, 0)->parent,
				"has %u IPv%c addresses, and relay.addresses has %u: give one for "
				"each",
				nb, is_v4 ? '4' : '6', relays);
	}
	return 0;
}

static int check_peers(struct conf_ctx *x, uint32_t pool)
{
	const struct turn_config *t = &x->conf->turn;
	const struct turn_relay_pool *p = &t->relay_pools[pool];
	char text[ADDR_TEXT_LEN];

	for (uint32_t i = 0; i < p->nb_peers; i++) {
		const bool is_v4 = addr_is_v4(&p->peers[i].addr);
		const struct conf_node *n = conf_node_by_field(x->root, &p->peers, i);
		const unsigned int len = is_v4 ? p->peers[i].len - 96u : p->peers[i].len;

		addr_format(&p->peers[i].addr, text, sizeof(text));
		if (count_family(p->addresses, p->nb_addresses, is_v4) == 0)
			return conf_fail(x, n,
				"%s/%u is IPv%c, and the pool has no address of that family", text,
				len, is_v4 ? '4' : '6');
		for (uint32_t k = 0; k < pool; k++)
			for (uint32_t j = 0; j < t->relay_pools[k].nb_peers; j++)
				if (t->relay_pools[k].peers[j].len == p->peers[i].len &&
					addr_eq(&t->relay_pools[k].peers[j].addr,
						&p->peers[i].addr) &&
					conf_realms_share(t, t->relay_pools[k].name, p->name))
					return conf_fail(x, n,
						"%s/%u is in pool '%s', too: "
						"remove one",
						text, len, t->relay_pools[k].name);
	}
	return 0;
}

int conf_pools_check(struct conf_ctx *x)
{
	const struct turn_config *t = &x->conf->turn;
	int rc = 0;

	if ((t->nb_relay_pools + 1) * (uint64_t)t->nb_relay > TURN_SOURCES_MAX)
		return conf_fail(x, conf_node_by_field(x->root, &t->relay_pools, 0),
			"relay.addresses and the pools have more than %u addresses in all: remove "
			"some",
			TURN_SOURCES_MAX);
	for (uint32_t i = 0; i < t->nb_relay_pools; i++) {
		for (uint32_t k = 0; k < i; k++)
			if (strcmp(t->relay_pools[k].name, t->relay_pools[i].name) == 0)
				rc = conf_fail(x,
					conf_node_by_field(x->root, &t->relay_pools[i].name, 0),
					"another pool has the name '%s': give each its own",
					t->relay_pools[i].name);
		if (check_addresses(x, i) != 0 || check_peers(x, i) != 0)
			rc = -EINVAL;
	}
	return rc;
}
