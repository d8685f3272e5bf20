// SPDX-License-Identifier: BSD-3-Clause
// Counts connections in total, by source and by network. A table with a keyed hash holds the
// addresses with connections.
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "conn_limits.h"
#include "invariant.h"

#define NONE UINT32_MAX

static int level_init(struct conn_limits_level *l, uint32_t max, uint32_t most)
{
	const size_t size = table_size(max);

	*l = (struct conn_limits_level){.most = most, .free = NONE};
	l->mem = aligned_alloc(64, size);
	l->source = calloc(max, sizeof(*l->source));
	if (l->mem == NULL || l->source == NULL)
		return -ENOMEM;
	memset(l->mem, 0, size);
	table_init(&l->table, l->mem, max);
	for (uint32_t i = max; i-- > 0; l->free = i)
		l->source[i].next = l->free;
	return 0;
}

static void levels_free(struct conn_limits *c)
{
	for (unsigned int i = 0; i < CONN_LIMITS_LEVELS; i++) {
		free(c->level[i].mem);
		free(c->level[i].source);
	}
}

int conn_limits_init(struct conn_limits *c, uint32_t max, uint32_t per_source, uint32_t per_network)
{
	*c = (struct conn_limits){.max = max};
	if (getrandom(&c->key, sizeof(c->key), 0) == sizeof(c->key) &&
		level_init(&c->level[CONN_LIMITS_BY_SOURCE], max, per_source) == 0 &&
		level_init(&c->level[CONN_LIMITS_BY_NETWORK], max, per_network) == 0 &&
		pthread_mutex_init(&c->lock, NULL) == 0)
		return 0;
	levels_free(c);
	return -ENOMEM;
}

void conn_limits_fini(struct conn_limits *c)
{
	pthread_mutex_destroy(&c->lock);
	levels_free(c);
}

void conn_limits_set(struct conn_limits *c, uint32_t per_source, uint32_t per_network)
{
	pthread_mutex_lock(&c->lock);
	c->level[CONN_LIMITS_BY_SOURCE].most = per_source;
	c->level[CONN_LIMITS_BY_NETWORK].most = per_network;
	pthread_mutex_unlock(&c->lock);
}

// Gets the part of an address that a level counts by. False if the level does not count such
// addresses.
static bool bits_of(const struct addr *a, unsigned int level, struct addr *out)
{
	*out = level == CONN_LIMITS_BY_NETWORK ? addr_network(a) : addr_source(a);
	return level == CONN_LIMITS_BY_SOURCE || !addr_is_v4(a);
}

static uint32_t find_source(const struct conn_limits_level *l, uint64_t hash, const struct addr *a)
{
	struct table_iter it = {0};
	uint32_t i;

	while (table_next(&l->table, hash, &it, &i))
		if (addr_eq(&l->source[i].addr, a))
			return i;
	return NONE;
}

static bool is_full(const struct conn_limits *c, unsigned int level, const struct addr *source)
{
	const struct conn_limits_level *l = &c->level[level];
	struct addr a;
	uint32_t i;

	if (l->most == 0 || !bits_of(source, level, &a))
		return false;
	i = find_source(l, hash_addr(&c->key, &a, level), &a);
	return i != NONE && l->source[i].count >= l->most;
}

// Changes a count by 1 or -1. False if the table has no room.
static bool change_count(
	struct conn_limits *c, unsigned int level, const struct addr *source, int step)
{
	struct conn_limits_level *l = &c->level[level];
	struct addr a;
	uint64_t hash;
	uint32_t i;

	if (!bits_of(source, level, &a))
		return true;
	hash = hash_addr(&c->key, &a, level);
	i = find_source(l, hash, &a);
	if (i == NONE) {
		ASSERT(step > 0);
		i = l->free; // never empty: there are no more sources than connections
		if (!table_insert(&l->table, hash, i))
			return false;
		l->free = l->source[i].next;
		l->source[i] = (struct conn_limits_source){.addr = a};
	}
	ASSERT(step > 0 || l->source[i].count > 0);
	l->source[i].count += (uint32_t)step;
	if (l->source[i].count == 0) {
		ASSERT(l->table.used > 0);
		table_remove(&l->table, hash, i);
		l->source[i].next = l->free;
		l->free = i;
	}
	return true;
}

static enum conn_limits_answer take_counts(struct conn_limits *c, const struct addr *a)
{
	if (is_full(c, CONN_LIMITS_BY_SOURCE, a))
		return CONN_LIMITS_SOURCE;
	if (is_full(c, CONN_LIMITS_BY_NETWORK, a))
		return CONN_LIMITS_NETWORK;
	if (c->total == c->max || !change_count(c, CONN_LIMITS_BY_SOURCE, a, 1))
		return CONN_LIMITS_TOTAL;
	if (!change_count(c, CONN_LIMITS_BY_NETWORK, a, 1)) {
		change_count(c, CONN_LIMITS_BY_SOURCE, a, -1);
		return CONN_LIMITS_TOTAL;
	}
	ASSERT(c->total < c->max);
	c->total++;
	return CONN_LIMITS_OK;
}

enum conn_limits_answer conn_limits_take(struct conn_limits *c, const struct addr *source)
{
	enum conn_limits_answer answer;

	pthread_mutex_lock(&c->lock);
	answer = take_counts(c, source);
	pthread_mutex_unlock(&c->lock);
	return answer;
}

void conn_limits_give(struct conn_limits *c, const struct addr *source)
{
	pthread_mutex_lock(&c->lock);
	ASSERT(c->total > 0 && c->total <= c->max);
	c->total--;
	change_count(c, CONN_LIMITS_BY_SOURCE, source, -1);
	change_count(c, CONN_LIMITS_BY_NETWORK, source, -1);
	pthread_mutex_unlock(&c->lock);
}

void conn_limits_trust(struct conn_limits *c, const struct prefix *trusted, unsigned int n)
{
	pthread_mutex_lock(&c->lock);
	c->nb_trusted = n < STREAM_TRUSTED_MAX ? n : STREAM_TRUSTED_MAX;
	if (c->nb_trusted > 0)
		memcpy(c->trusted, trusted, c->nb_trusted * sizeof(*trusted));
	pthread_mutex_unlock(&c->lock);
}

bool conn_limits_trusts(struct conn_limits *c, const struct addr *source)
{
	bool yes = false;

	pthread_mutex_lock(&c->lock);
	for (unsigned int i = 0; i < c->nb_trusted && !yes; i++)
		yes = addr_prefix_contains(&c->trusted[i], source);
	pthread_mutex_unlock(&c->lock);
	return yes;
}

bool conn_limits_take_total(struct conn_limits *c)
{
	bool yes;

	pthread_mutex_lock(&c->lock);
	yes = c->total < c->max;
	c->total += yes;
	pthread_mutex_unlock(&c->lock);
	return yes;
}

void conn_limits_give_total(struct conn_limits *c)
{
	pthread_mutex_lock(&c->lock);
	ASSERT(c->total > 0 && c->total <= c->max);
	c->total--;
	pthread_mutex_unlock(&c->lock);
}

void conn_limits_spare(struct conn_limits *c, const struct addr *source, bool spared)
{
	pthread_mutex_lock(&c->lock);
	for (unsigned int level = 0; level < CONN_LIMITS_LEVELS; level++)
		change_count(c, level, source, spared ? -1 : 1);
	pthread_mutex_unlock(&c->lock);
}
