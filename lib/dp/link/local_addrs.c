// SPDX-License-Identifier: BSD-3-Clause
// Our addresses: finds the listener or relay port of a packet, and sources that are certainly ours.
#include <errno.h>
#include <stdlib.h>

#include "link/local_addrs.h"
#include "addr.h"
#include "conf.h"
#include "turn.h"
#include "turn_config.h"
#include "turn_mark.h"
#include "turn_relay_map.h"

#define LISTENERS_MAX LOCAL_ONLY_DTLS // turn_view.listener is a byte

static struct local_addr *slot_for(struct local_addrs *t, const struct addr *a)
{
	uint32_t i = local_addrs_hash(t, a);

	while (t->slot[i].kind != LOCAL_FREE && !addr_eq(&t->slot[i].addr, a))
		i = (i + 1) & t->mask;
	return &t->slot[i];
}

// The source index of our address: that of a relay address, or of its substitute in a pool; or -1.
// The map may have another address where one is about to be replaced.
static int source_of(const struct turn_config *c, const struct addr *addr)
{
	const int of_pool = turn_relay_pool_find(c, addr);

	for (uint32_t i = 0; i < c->nb_relay && of_pool < 0; i++)
		if (addr_eq(&c->relay[i], addr))
			return (int)i;
	return of_pool;
}

static void add_own(struct local_addrs *t, const struct turn_config *c,
	const struct conf_address *a, uint8_t port, const struct turn_relay_map *map)
{
	struct local_addr *l = slot_for(t, &a->addr);
	const int source = source_of(c, &a->addr);

	*l = (struct local_addr){.addr = a->addr, .kind = LOCAL_OWN, .port = port, .relay = -1};
	if (source >= 0) {
		l->relay = (int32_t)((uint32_t)source % c->nb_relay);
		l->plain_mark[TURN_FROM_PEER] = (uint32_t)source << 16;
	}
	if (l->relay >= 0 && !turn_relay_map_run(map, (unsigned int)l->relay, &l->run))
		l->run = (struct turn_relay_map_run){0};
}

// Adds the broadcast address of an IPv4 subnet. Subnets of one or two addresses have no broadcast
// address (RFC 3021).
static void add_broadcast(struct local_addrs *t, const struct conf_address *a, uint8_t port)
{
	const struct prefix net = {.addr = a->addr, .len = a->prefix_len};
	const struct addr b = addr_prefix_range(&net).hi;
	struct local_addr *l;

	if (!addr_is_v4(&b) || a->prefix_len > 126)
		return;
	l = slot_for(t, &b);
	if (l->kind == LOCAL_FREE)
		*l = (struct local_addr){
			.addr = b, .kind = LOCAL_BROADCAST, .port = port, .relay = -1};
}

static bool is_among(const struct prefix *list, uint32_t nb, const struct addr *a)
{
	bool found = false;

	for (uint32_t i = 0; i < nb; i++)
		found |= list[i].len == 128 && addr_eq(&list[i].addr, a);
	return found;
}

// True if an entry of peers.allow, or of a realm's list, is exactly this address.
static bool is_named(const struct turn_config *c, const struct addr *a)
{
	bool found = is_among(c->allow, c->nb_allow, a);

	for (uint32_t i = 0; i < turn_config_nb_realms(c); i++) {
		const struct turn_realm *r = turn_config_realm(c, i);

		found |= is_among(r->allow, r->nb_allow, a);
	}
	return found;
}

static void add_external(struct local_addrs *t, const struct turn_config *c,
	const struct conf_address *a, uint8_t port)
{
	static const struct addr none;
	const struct local_addr *internal = slot_for(t, &a->addr);
	struct local_addr *l = slot_for(t, &a->external);

	if (!addr_eq(&a->external, &none) && l->kind == LOCAL_FREE)
		*l = (struct local_addr){.addr = a->external,
			.kind = is_named(c, &a->external) ? LOCAL_COMMON : LOCAL_EXTERNAL,
			.port = port,
			.relay = internal->relay};
}

// A UDP and a DTLS listener on one port share one entry.
static void add_listener(struct local_addrs *t, const struct turn_config *c, uint16_t *n,
	const struct local_addr *l, uint8_t k)
{
	const uint16_t port = c->listeners[k].endpoint.port;
	const bool dtls = c->listeners[k].transport == TURN_OVER_DTLS;
	uint16_t i = l->listener_from;

	while (i < *n && t->listener[i].port != port)
		i++;
	if (i == *n)
		t->listener[(*n)++] = (struct local_listener){
			.port = port, .index = LOCAL_ONLY_DTLS, .dtls = LOCAL_NO_DTLS};
	if (dtls)
		t->listener[i].dtls = k;
	else
		t->listener[i].index = k;
}

// The listeners of one address are contiguous.
static int add_listeners(struct local_addrs *t, const struct turn_config *c)
{
	uint32_t added = 0;
	uint16_t n = 0;

	for (uint32_t i = 0; i <= t->mask; i++) {
		struct local_addr *l = &t->slot[i];

		l->plain4 = UINT64_MAX;
		l->plain_port6 = UINT16_MAX;
		l->plain_listener = UINT32_MAX;
		if (l->kind != LOCAL_OWN)
			continue;
		l->listener_from = n;
		for (uint32_t k = 0; k < c->nb_listeners; k++) {
			if (turn_listener_is_stream(&c->listeners[k]) ||
				!addr_eq(&c->listeners[k].endpoint.addr, &l->addr))
				continue;
			add_listener(t, c, &n, l, (uint8_t)k);
			added++;
		}
		l->nb_listeners = (uint8_t)(n - l->listener_from);
		if (addr_is_v4(&l->addr))
			l->plain4 = local_addrs_plain4(l->addr.w[3], l->port);
		else
			l->plain_port6 = l->port;
		if (l->nb_listeners > 0) {
			l->plain_listener = t->listener[l->listener_from].port;
			l->plain_mark[TURN_FROM_CLIENT] =
				turn_mark_client(0, t->listener[l->listener_from].index);
		}
	}
	// a listener whose address no port has would silently receive nothing; listeners over TCP
	// and TLS belong to the kernel
	for (uint32_t k = 0; k < c->nb_listeners; k++)
		added += turn_listener_is_stream(&c->listeners[k]);
	return added == c->nb_listeners ? 0 : -EINVAL;
}

static void add_addresses(
	struct local_addrs *t, const struct conf *c, const struct turn_relay_map *map)
{
	for (uint32_t p = 0; p < c->nb_ports; p++)
		for (uint32_t i = 0; i < c->ports[p].nb_addresses; i++)
			add_own(t, &c->turn, &c->ports[p].addresses[i], (uint8_t)p, map);
	// after all our addresses, which take precedence
	for (uint32_t p = 0; p < c->nb_ports; p++)
		for (uint32_t i = 0; i < c->ports[p].nb_addresses; i++)
			add_broadcast(t, &c->ports[p].addresses[i], (uint8_t)p);
	for (uint32_t p = 0; p < c->nb_ports; p++)
		for (uint32_t i = 0; i < c->ports[p].nb_addresses; i++)
			add_external(t, &c->turn, &c->ports[p].addresses[i], (uint8_t)p);
}

// Common addresses get the listeners of the address that they are translated to.
static void add_common_listeners(struct local_addrs *t, const struct conf *c)
{
	for (uint32_t p = 0; p < c->nb_ports; p++) {
		for (uint32_t i = 0; i < c->ports[p].nb_addresses; i++) {
			const struct conf_address *a = &c->ports[p].addresses[i];
			const struct local_addr *internal = slot_for(t, &a->addr);
			struct local_addr *l = slot_for(t, &a->external);

			if (l->kind != LOCAL_COMMON)
				continue;
			l->listener_from = internal->listener_from;
			l->nb_listeners = internal->nb_listeners;
		}
	}
}

static struct local_addrs *table_make(uint32_t entries, uint32_t listeners)
{
	struct local_addrs *t = calloc(1, sizeof(*t));
	unsigned int bits = 4;

	if (t == NULL)
		return NULL;
	while (1u << bits < 4 * entries)
		bits++;
	t->mask = (1u << bits) - 1;
	t->shift = (uint8_t)(64 - bits);
	t->slot = aligned_alloc(64, sizeof(*t->slot) << bits);
	t->listener = calloc(listeners + 1, sizeof(*t->listener));
	if (t->slot == NULL || t->listener == NULL) {
		local_addrs_free(t);
		return NULL;
	}
	memset(t->slot, 0, sizeof(*t->slot) << bits);
	return t;
}

struct local_addrs *local_addrs_create(const struct conf *c, const struct turn_relay_map *map)
{
	struct local_addrs *t;
	uint32_t n = 0;

	if (c->turn.nb_listeners > LISTENERS_MAX) {
		errno = EINVAL;
		return NULL;
	}
	for (uint32_t p = 0; p < c->nb_ports; p++)
		n += 3 * c->ports[p].nb_addresses;
	t = table_make(n, c->turn.nb_listeners);
	if (t == NULL)
		return NULL;
	add_addresses(t, c, map);
	if (add_listeners(t, &c->turn) != 0) {
		local_addrs_free(t);
		errno = EINVAL;
		return NULL;
	}
	add_common_listeners(t, c);
	return t;
}

bool local_addrs_is_data_path(const struct local_addrs *t, const struct turn_relay_map *map,
	const struct local_addr *l, uint16_t port)
{
	unsigned int home;
	uint32_t slot;

	return local_addrs_listener(t, l, port) >= 0 ||
		(l->relay >= 0 &&
			turn_relay_map_home(map, (unsigned int)l->relay, port, &home, &slot));
}

bool local_addrs_ours_at(const struct local_addrs *t, const struct turn_relay_map *map,
	const struct addr *a, uint16_t port)
{
	const struct local_addr *l = local_addrs_find(t, a);

	return l != NULL && (l->kind != LOCAL_COMMON || local_addrs_is_data_path(t, map, l, port));
}

void local_addrs_free(struct local_addrs *t)
{
	if (t == NULL)
		return;
	free(t->slot);
	free(t->listener);
	free(t);
}
