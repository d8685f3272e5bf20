// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <stdlib.h>
#include <sys/random.h>

#include "caps.h"

#define NONE UINT32_MAX

int caps_init(struct caps *c, uint32_t max, uint32_t per_source)
{
	const size_t size = table_size(max);

	*c = (struct caps){.max = max, .per_source = per_source, .free = NONE};
	if (getrandom(&c->key, sizeof(c->key), 0) != sizeof(c->key))
		return -ENOMEM;
	c->mem = aligned_alloc(64, size);
	c->source = calloc(max, sizeof(*c->source));
	if (c->mem == NULL || c->source == NULL || pthread_mutex_init(&c->lock, NULL) != 0) {
		free(c->mem);
		free(c->source);
		return -ENOMEM;
	}
	memset(c->mem, 0, size);
	table_init(&c->table, c->mem, max);
	for (uint32_t i = max; i-- > 0; c->free = i)
		c->source[i].next = c->free;
	return 0;
}

void caps_fini(struct caps *c)
{
	pthread_mutex_destroy(&c->lock);
	free(c->mem);
	free(c->source);
}

static struct addr source_of(const struct addr *a)
{
	struct addr s = *a;

	if (!addr_is_v4(a))
		s.d[1] = 0;
	return s;
}

static uint32_t find(const struct caps *c, uint64_t hash, const struct addr *a)
{
	struct table_iter it = {0};
	uint32_t i;

	while (table_next(&c->table, hash, &it, &i))
		if (addr_eq(&c->source[i].addr, a))
			return i;
	return NONE;
}

static enum caps_answer take(struct caps *c, const struct addr *a)
{
	const uint64_t hash = hash_addr(&c->key, a, 0);
	uint32_t i = find(c, hash, a);

	if (c->total == c->max)
		return CAPS_TOTAL;
	if (i == NONE) {
		i = c->free; // there is one, as there are no more sources than connections
		if (!table_insert(&c->table, hash, i))
			return CAPS_TOTAL;
		c->free = c->source[i].next;
		c->source[i] = (struct caps_source){.addr = *a};
	} else if (c->per_source != 0 && c->source[i].count >= c->per_source) {
		return CAPS_SOURCE;
	}
	c->source[i].count++;
	c->total++;
	return CAPS_OK;
}

enum caps_answer caps_take(struct caps *c, const struct addr *source)
{
	const struct addr a = source_of(source);
	enum caps_answer answer;

	pthread_mutex_lock(&c->lock);
	answer = take(c, &a);
	pthread_mutex_unlock(&c->lock);
	return answer;
}

void caps_give(struct caps *c, const struct addr *source)
{
	const struct addr a = source_of(source);
	const uint64_t hash = hash_addr(&c->key, &a, 0);
	uint32_t i;

	pthread_mutex_lock(&c->lock);
	i = find(c, hash, &a);
	c->total--;
	if (--c->source[i].count == 0) {
		table_remove(&c->table, hash, i);
		c->source[i].next = c->free;
		c->free = i;
	}
	pthread_mutex_unlock(&c->lock);
}
