// SPDX-License-Identifier: BSD-3-Clause
// Hosts in a neighbour table, and their messages.
#pragma once

#include <stdlib.h>
#include <string.h>

#include "net.h"
#include "test.h"

#define PORT 3

static const uint8_t mac1[6] = {2, 0, 0, 0, 0, 1}, mac2[6] = {2, 0, 0, 0, 0, 2};
// Random, as from the CSPRNG: with small numbers as a key, the hash of a CPU without AES spreads
// badly.
static const struct hash_key key = {
	{0x243f6a8885a308d3, 0x13198a2e03707344, 0xa4093822299f31d0, 0x082efa98ec4e6c89}};

static struct neigh_due due; // the result of the last tick

static inline struct neigh_table *make(const struct neigh_config *c)
{
	void *mem = malloc(neigh_size(c));

	assert_non_null(mem);
	return neigh_create(mem, c, &key);
}

static inline struct neigh_table *make_default(void)
{
	return make(&(struct neigh_config){0});
}

static inline void tick(struct neigh_table *t, uint64_t now)
{
	neigh_tick(t, now, &due);
	assert_in_range(due.nb_asks, 0, NEIGH_DUE_MAX);
	assert_in_range(due.nb_failed, 0, NEIGH_DUE_MAX);
}

static inline struct addr host(uint32_t n)
{
	const uint8_t v4[4] = {10, (uint8_t)(n >> 16), (uint8_t)(n >> 8), (uint8_t)n};

	return addr_from_v4(v4);
}

static inline uint32_t load_host(const struct addr *a)
{
	return (uint32_t)a->b[13] << 16 | (uint32_t)a->b[14] << 8 | a->b[15];
}

static inline uint16_t answer(struct neigh_table *t, uint32_t n, const uint8_t *mac, uint64_t now)
{
	struct net_neigh_msg m = {NET_NEIGH_ANSWER, .target = host(n), .solicited = true};

	memcpy(m.mac, mac, 6);
	return neigh_learn(t, &m, PORT, false, now);
}

static inline uint16_t claim(struct neigh_table *t, uint32_t n, const uint8_t *mac, uint64_t now)
{
	struct net_neigh_msg m = {NET_NEIGH_ANSWER, .target = host(n)};

	memcpy(m.mac, mac, 6);
	return neigh_learn(t, &m, PORT, false, now);
}

static inline uint16_t asked_by(struct neigh_table *t, uint32_t n, const uint8_t *mac, uint64_t now)
{
	struct net_neigh_msg m = {NET_NEIGH_ASK, .target = host(999), .sender = host(n)};

	memcpy(m.mac, mac, 6);
	return neigh_learn(t, &m, PORT, true, now);
}

// An entry for host n that is REACHABLE from now on.
static inline uint16_t reach(struct neigh_table *t, uint32_t n, const uint8_t *mac, uint64_t now)
{
	const struct addr a = host(n);
	const uint16_t i = neigh_use(t, &a, PORT, now);

	tick(t, now);
	assert_int_equal(answer(t, n, mac, now), i);
	assert_int_equal(neigh_state(t, i), NEIGH_REACHABLE);
	return i;
}

// Asserts the contents of an entry's hop in every state, and that a note leads to it.
static inline void assert_hop(struct neigh_table *t, uint32_t note, const uint8_t *mac)
{
	const uint16_t i = neigh_noted(t, note);
	const struct neigh_hop *hop = &neigh_hops(t)[(uint16_t)note];
	enum neigh_state state;

	assert_int_equal(i, (uint16_t)note);
	state = neigh_state(t, i);
	if (state != NEIGH_REACHABLE && state != NEIGH_PROBE) {
		assert_int_not_equal(hop->serial, note >> 16);
		return;
	}
	assert_int_equal(hop->serial, note >> 16);
	assert_int_equal(hop->port, PORT);
	assert_memory_equal(hop->mac, mac, 6);
}
