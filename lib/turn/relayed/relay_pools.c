// SPDX-License-Identifier: BSD-3-Clause
// Finds the address by which a peer sees an allocation. This costs one pass over the prefixes of
// all pools, or nothing if there are no pools.
#include "relayed/relay_pools.h"

#include <stdlib.h>
#include <string.h>

#include "turn_relay_map.h"

// Index of the n-th element of a family, or -1.
static int nth_of(const struct addr *a, uint32_t nb, bool is_v4, uint32_t n)
{
	for (uint32_t i = 0; i < nb; i++)
		if (addr_is_v4(&a[i]) == is_v4 && n-- == 0)
			return (int)i;
	return -1;
}

// Number of preceding elements of its family.
static uint32_t number_of(const struct addr *a, uint32_t index)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < index; i++)
		n += addr_is_v4(&a[i]) == addr_is_v4(&a[index]);
	return n;
}

struct addr turn_relay_pool_addr(const struct turn_config *c, uint32_t pool, uint32_t relay)
{
	const struct addr *a = &c->relay[relay];
	const struct turn_relay_pool *p = pool > 0 ? &c->relay_pools[pool - 1] : NULL;
	int i = -1;

	if (p != NULL)
		i = nth_of(
			p->addresses, p->nb_addresses, addr_is_v4(a), number_of(c->relay, relay));
	return i >= 0 ? p->addresses[i] : *a;
}

int turn_relay_pool_find(const struct turn_config *c, const struct addr *a)
{
	for (uint32_t k = 0; k < c->nb_relay_pools; k++) {
		const struct turn_relay_pool *p = &c->relay_pools[k];

		for (uint32_t i = 0; i < p->nb_addresses; i++)
			if (addr_eq(&p->addresses[i], a))
				return (int)((k + 1) * c->nb_relay) +
					nth_of(c->relay, c->nb_relay, addr_is_v4(a),
						number_of(p->addresses, i));
	}
	return -1;
}

static int longer_first(const void *a, const void *b)
{
	return ((const struct relay_pool_rule *)b)->peers.len -
		((const struct relay_pool_rule *)a)->peers.len;
}

static int by_addr(const void *a, const void *b)
{
	return addr_cmp(a, b);
}

static bool is_among(const char *name, char *const *names, uint32_t nb)
{
	for (uint32_t i = 0; i < nb; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

bool relay_pools_rules(
	struct relay_pools *p, const struct turn_config *c, const struct turn_realm *realm)
{
	size_t most = 0;

	for (uint32_t i = 0; i < c->nb_relay_pools; i++)
		most += c->relay_pools[i].nb_peers;
	p->nb_rules = 0;
	p->rule = calloc(most + 1, sizeof(*p->rule));
	if (p->rule == NULL)
		return false;
	for (uint32_t i = 0; i < c->nb_relay_pools; i++) {
		const struct turn_relay_pool *pool = &c->relay_pools[i];

		if (realm->relay_pool_names != NULL &&
			!is_among(pool->name, realm->relay_pool_names, realm->nb_relay_pool_names))
			continue;
		for (uint32_t k = 0; k < pool->nb_peers; k++)
			p->rule[p->nb_rules++] = (struct relay_pool_rule){pool->peers[k], i + 1};
	}
	qsort(p->rule, p->nb_rules, sizeof(*p->rule), longer_first);
	return true;
}

static bool is_apart(const struct turn_config *c, const struct addr *a)
{
	for (uint32_t i = 0; i < c->nb_local; i++)
		if (addr_eq(&c->local[i].addr, a))
			return (c->apart >> c->local[i].port & 1) != 0;
	return false;
}

bool relay_pools_make(struct relay_pools *p, const struct turn_config *c)
{
	*p = (struct relay_pools){
		.addr = calloc((c->nb_relay_pools + 1) * (size_t)c->nb_relay + 1, sizeof(*p->addr)),
		.apart = calloc(
			(c->nb_relay_pools + 1) * (size_t)c->nb_relay + 1, sizeof(*p->apart)),
		.relay = calloc((size_t)c->nb_relay + 1, sizeof(*p->relay)),
		.nb_relay = c->nb_relay,
		.nb_pools = c->nb_relay_pools};
	if (p->addr == NULL || p->apart == NULL || p->relay == NULL ||
		!relay_pools_rules(p, c, &c->first))
		return false;
	for (uint32_t i = 0; i < c->nb_relay; i++)
		p->relay[i] = c->relay[i];
	qsort(p->relay, p->nb_relay, sizeof(*p->relay), by_addr);
	for (uint32_t pool = 0; pool <= c->nb_relay_pools; pool++)
		for (uint32_t i = 0; i < c->nb_relay; i++) {
			const uint32_t source = pool * c->nb_relay + i;

			p->addr[source] = turn_relay_pool_addr(c, pool, i);
			p->apart[source] = c->apart != 0 && is_apart(c, &p->addr[source]);
		}
	return true;
}

void relay_pools_free(struct relay_pools *p)
{
	free(p->rule);
	free(p->addr);
	free(p->apart);
	free(p->relay);
	*p = (struct relay_pools){0};
}

uint32_t relay_pools_source(const struct relay_pools *p, uint32_t relay, const struct addr *peer)
{
	if (p->nb_rules == 0 ||
		bsearch(peer, p->relay, p->nb_relay, sizeof(*peer), by_addr) != NULL)
		return relay;
	for (uint32_t i = 0; i < p->nb_rules; i++)
		if (addr_prefix_contains(&p->rule[i].peers, peer))
			return p->rule[i].pool * p->nb_relay + relay;
	return relay;
}

bool relay_pools_takes(
	const struct relay_pools *p, uint32_t relay, const struct addr *peer, uint32_t source)
{
	const uint32_t seen = relay_pools_source(p, relay, peer);

	return source == seen || (source < p->nb_relay && !p->apart[seen]);
}
