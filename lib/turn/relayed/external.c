// SPDX-License-Identifier: BSD-3-Clause
// Looks up the public form of our address, and our address for a public form. Each look-up is a
// binary search, or costs nothing if there are no external addresses.
#include "relayed/external.h"

#include <stdlib.h>

#include "turn_relay_map.h"

// Each comparison looks at one address only, so a pair with one address set can be the key of
// bsearch.
static int by_own(const void *a, const void *b)
{
	const struct external_pair *l = a, *r = b;

	return addr_cmp(&l->local, &r->local);
}

static int by_public(const void *a, const void *b)
{
	const struct external_pair *l = a, *r = b;

	return addr_cmp(&l->public, &r->public);
}

static size_t most_pairs(const struct turn_config *c)
{
	size_t nb = (size_t)c->nb_local + 1;

	for (uint32_t i = 0; i < c->nb_relay_pools; i++)
		nb += c->relay_pools[i].nb_addresses;
	return nb;
}

static const struct addr none;

// Adds the meaning of our address and of its public form: our address itself, or the relay address
// that it replaces in a pool. A relay address has two forms, and two more in each pool.
static void add_meant(struct external *e, const struct turn_config *c, const struct turn_local *l)
{
	const int source = turn_relay_pool_find(c, &l->addr);
	const uint32_t pool = source >= 0 ? (uint32_t)source / c->nb_relay : 0;
	const struct addr local = pool > 0 ? c->relay[(uint32_t)source % c->nb_relay] : l->addr;

	if (!addr_eq(&local, &l->addr))
		e->by_public[e->nb_public++] =
			(struct external_pair){local, l->addr, l->addr, (uint8_t)(2 * pool)};
	if (!addr_eq(&l->external, &none))
		e->by_public[e->nb_public++] = (struct external_pair){
			local, l->external, l->addr, (uint8_t)(2 * pool + 1)};
}

bool external_make(struct external *e, const struct turn_config *c)
{
	const size_t most = most_pairs(c);

	*e = (struct external){.by_own = calloc(most, sizeof(*e->by_own)),
		.by_public = calloc(most, sizeof(*e->by_public))};
	if (e->by_own == NULL || e->by_public == NULL)
		return false;
	for (uint32_t i = 0; i < c->nb_local; i++) {
		const struct turn_local *l = &c->local[i];

		add_meant(e, c, l);
		if (!addr_eq(&l->external, &none))
			e->by_own[e->nb_own++] =
				(struct external_pair){l->addr, l->external, l->addr, 1};
	}
	qsort(e->by_own, e->nb_own, sizeof(*e->by_own), by_own);
	qsort(e->by_public, e->nb_public, sizeof(*e->by_public), by_public);
	return true;
}

void external_free(struct external *e)
{
	free(e->by_own);
	free(e->by_public);
	*e = (struct external){0};
}

struct addr external_told(const struct external *e, const struct addr *a)
{
	const struct external_pair key = {.local = *a}, *found = NULL;

	if (e->nb_own > 0)
		found = bsearch(&key, e->by_own, e->nb_own, sizeof(key), by_own);
	return found != NULL ? found->public : *a;
}

const struct external_pair *external_find(const struct external *e, const struct addr *a)
{
	const struct external_pair key = {.public = *a};

	if (e->nb_public == 0)
		return NULL;
	return bsearch(&key, e->by_public, e->nb_public, sizeof(key), by_public);
}

const struct external_pair *external_find_outside(const struct external *e, const struct addr *a)
{
	const struct external_pair *found = external_find(e, a);

	return found != NULL && found->form % 2 == 1 ? found : NULL;
}

struct addr external_meant(const struct external *e, const struct addr *a)
{
	const struct external_pair *found = external_find(e, a);

	return found != NULL ? found->local : *a;
}

uint8_t external_form(const struct external *e, const struct addr *a)
{
	const struct external_pair *found = external_find(e, a);

	return found != NULL ? found->form : 0;
}
