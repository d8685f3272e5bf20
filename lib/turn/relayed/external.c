// SPDX-License-Identifier: BSD-3-Clause
// Looks up the public form of an own address, and the own address of a public form. It takes a
// binary search either way, and none where there are no external addresses.
#include "relayed/external.h"

#include <stdlib.h>

// Each order looks at one address only, so a lone address can stand for a pair in bsearch.
static int by_own(const void *a, const void *b)
{
	const struct external_pair *l = a, *r = b;

	return addr_cmp(&l->own, &r->own);
}

static int by_public(const void *a, const void *b)
{
	const struct external_pair *l = a, *r = b;

	return addr_cmp(&l->public, &r->public);
}

bool external_make(struct external *e, const struct turn_config *c)
{
	static const struct addr none;

	*e = (struct external){.by_own = calloc((size_t)c->nb_local + 1, sizeof(*e->by_own)),
		.by_public = calloc((size_t)c->nb_local + 1, sizeof(*e->by_public))};
	if (e->by_own == NULL || e->by_public == NULL)
		return false;
	for (uint32_t i = 0; i < c->nb_local; i++) {
		const struct turn_local *l = &c->local[i];

		if (addr_eq(&l->external, &none))
			continue;
		e->by_own[e->nb] = e->by_public[e->nb] =
			(struct external_pair){l->addr, l->external};
		e->nb++;
	}
	qsort(e->by_own, e->nb, sizeof(*e->by_own), by_own);
	qsort(e->by_public, e->nb, sizeof(*e->by_public), by_public);
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
	const struct external_pair key = {.own = *a}, *found = NULL;

	if (e->nb > 0)
		found = bsearch(&key, e->by_own, e->nb, sizeof(key), by_own);
	return found != NULL ? found->public : *a;
}

struct addr external_meant(const struct external *e, const struct addr *a)
{
	const struct external_pair key = {.public = *a}, *found = NULL;

	if (e->nb > 0)
		found = bsearch(&key, e->by_public, e->nb, sizeof(key), by_public);
	return found != NULL ? found->own : *a;
}
