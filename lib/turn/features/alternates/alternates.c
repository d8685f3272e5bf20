// SPDX-License-Identifier: BSD-3-Clause
// Selects the alternate for a client: a server of the client's address family, chosen by a hash of
// its transport address, so that a retransmission gets the same answer.
#include "features/alternates/alternates.h"

#include <stdlib.h>
#include <string.h>

#include "requests/request.h"
#include "shard.h"
#include "turn_alternates.h"
#include "turn_quota.h"

struct turn_alternates {
	struct turn_alternates_rule rule;
	uint32_t nb;
	struct turn_alternate alternate[];
};

struct turn_alternates *turn_alternates_create(
	const struct turn_alternates_rule *rule, const struct turn_alternate *list, uint32_t nb)
{
	struct turn_alternates *d = calloc(1, sizeof(*d) + nb * sizeof(d->alternate[0]));

	if (d != NULL)
		d->rule = *rule;
	for (; d != NULL && d->nb < nb; d->nb++) {
		struct turn_alternate *a = &d->alternate[d->nb];

		*a = list[d->nb];
		if (a->name == NULL)
			continue;
		a->name = strdup(a->name);
		if (a->name == NULL) {
			turn_alternates_free(d);
			return NULL;
		}
	}
	return d;
}

void turn_alternates_free(struct turn_alternates *d)
{
	if (d == NULL)
		return;
	for (uint32_t i = 0; i < d->nb; i++)
		free(d->alternate[i].name);
	free(d);
}

static enum turn_transport transport_of(const struct turn_request *r)
{
	return (enum turn_transport)r->s->listener[r->v->listener].transport;
}

// True if the client of a request may use TLS or DTLS.
static bool is_secure(const struct turn_request *r)
{
	const enum turn_transport over = transport_of(r);

	return over != TURN_OVER_UDP && over != TURN_OVER_TCP;
}

static bool same_name(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

// Requirements on an alternate: its family and, for a second one, the name of the first. An answer
// has room for one name.
struct sought {
	bool is_v4;
	const struct turn_alternate *beside;
};

static bool fits_sought(const struct turn_alternate *a, const struct sought *x)
{
	return addr_is_v4(&a->addr) == x->is_v4 &&
		(x->beside == NULL || same_name(a->name, x->beside->name));
}

// The alternate for the client of a request, among those that fit; NULL if no alternate fits.
static const struct turn_alternate *deal_alternate(
	const struct turn_request *r, const struct sought *x)
{
	const struct turn_alternates *d = r->s->intake.alternates;
	uint32_t nb = 0, nth;

	for (uint32_t i = 0; i < d->nb; i++)
		nb += fits_sought(&d->alternate[i], x);
	if (nb == 0)
		return NULL;
	nth = (uint32_t)((hash_addr(&r->s->key, &r->v->src, r->v->src_port) >> 32) * nb >> 32);
	for (uint32_t i = 0;; i++)
		if (fits_sought(&d->alternate[i], x) && nth-- == 0)
			return &d->alternate[i];
}

// True if a rule applies to a request.
static bool rule_applies(
	const struct turn_alternates_rule *rule, const struct turn_request *r, bool reserved)
{
	switch (rule->when) {
	case TURN_ALTERNATES_DRAIN:
		return true;
	case TURN_ALTERNATES_ALLOCATIONS:
		return !reserved && turn_quota_total(r->s->quota) >= rule->min_allocations;
	default:
		return !reserved;
	}
}

enum turn_refusal alternates_refuse(const struct turn_request *r, bool reserved)
{
	static const enum turn_refusal refusals[] = {
		[TURN_ALTERNATES_DRAIN] = TURN_REFUSED_ALTERNATE,
		[TURN_ALTERNATES_ALWAYS] = TURN_REFUSED_ALTERNATE_ALWAYS,
		[TURN_ALTERNATES_DATAGRAMS] = TURN_REFUSED_ALTERNATE_DATAGRAMS,
		[TURN_ALTERNATES_ALLOCATIONS] = TURN_REFUSED_ALTERNATE_ALLOCATIONS,
	};
	const struct sought same = {.is_v4 = addr_is_v4(&r->v->src)};
	const struct turn_alternates_rule *rule = &r->s->intake.alternates->rule;

	if (!rule_applies(rule, r, reserved) || deal_alternate(r, &same) == NULL)
		return TURN_GRANTED;
	return refusals[rule->when];
}

// Appends ALTERNATE-SERVER. The client keeps its transport (RFC 8489 10). On a listener with both
// TCP and TLS the transport is not known here, so the port is that of the listener.
static void put_server(struct turn_request *r, const struct turn_alternate *a)
{
	const enum turn_transport over = transport_of(r);
	struct endpoint e = {.addr = a->addr};

	if (over == TURN_OVER_TLS || over == TURN_OVER_DTLS)
		e.port = a->tls_port;
	else if (over != TURN_OVER_AUTO)
		e.port = a->port;
	if (e.port == 0)
		e.port = r->s->listener[r->v->listener].endpoint.port;
	stun_put_addr(&r->w, STUN_ALTERNATE_SERVER, &e);
}

void alternates_put(struct turn_request *r)
{
	struct sought x = {.is_v4 = addr_is_v4(&r->v->src)};
	const struct turn_alternate *first = deal_alternate(r, &x), *second;

	put_server(r, first);
	x.is_v4 = !x.is_v4;
	x.beside = is_secure(r) ? first : NULL;
	second = deal_alternate(r, &x);
	if (second != NULL)
		put_server(r, second);
	if (is_secure(r) && first->name != NULL)
		stun_put(&r->w, STUN_ALTERNATE_DOMAIN, first->name, strlen(first->name));
}
