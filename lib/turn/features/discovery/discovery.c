// SPDX-License-Identifier: BSD-3-Clause
// The answers of NAT behaviour discovery. The parser does not know its attributes: for all other
// code they are unknown attributes.
#include "features/discovery/discovery.h"

#include <stdlib.h>
#include <string.h>

#include "requests/request.h"
#include "shard.h"

#define CHANGE_REQUEST 0x0003
#define PADDING 0x0026
#define RESPONSE_PORT 0x0027
#define PADDING_MAX 1500 // bytes; an answer has at most as many as its request

static bool is_one(const struct turn_config *c, const struct endpoint *endpoint)
{
	if (endpoint->port != c->discovery.ports[0] && endpoint->port != c->discovery.ports[1])
		return false;
	for (uint32_t i = 0; i < c->discovery.nb; i++)
		if (addr_eq(&c->discovery.addresses[i], &endpoint->addr))
			return true;
	return false;
}

// The UDP listener at an endpoint, or DISCOVERY_NONE.
static uint8_t listener_at(const struct turn_config *c, const struct endpoint *endpoint)
{
	for (uint32_t i = 0; i < c->nb_listeners; i++)
		if (c->listeners[i].transport == TURN_OVER_UDP &&
			endpoint_eq(&c->listeners[i].endpoint, endpoint))
			return (uint8_t)i;
	return DISCOVERY_NONE;
}

// The alternate address of the same family, or a itself.
static struct addr other_address(const struct turn_config *c, const struct addr *a)
{
	for (uint32_t i = 0; i < c->discovery.nb; i++)
		if (addr_is_v4(&c->discovery.addresses[i]) == addr_is_v4(a) &&
			!addr_eq(&c->discovery.addresses[i], a))
			return c->discovery.addresses[i];
	return *a;
}

// A listener takes no part if one of its answers would have to come from an address without a
// listener.
static void fill_responders(uint8_t responders[DISCOVERY_FORMS], const struct turn_config *c,
	const struct endpoint *endpoint)
{
	const uint16_t *ports = c->discovery.ports;
	bool whole = true;

	for (unsigned int flags = 0; flags < DISCOVERY_FORMS; flags++) {
		struct endpoint e = *endpoint;

		if ((flags & DISCOVERY_PORT) != 0)
			e.port = endpoint->port == ports[0] ? ports[1] : ports[0];
		if ((flags & DISCOVERY_IP) != 0)
			e.addr = other_address(c, &endpoint->addr);
		responders[flags] = listener_at(c, &e);
		whole = whole && responders[flags] != DISCOVERY_NONE;
	}
	if (!whole)
		responders[0] = DISCOVERY_NONE;
}

bool discovery_make(struct discovery *d, const struct turn_config *c)
{
	if (c->discovery.nb == 0)
		return true;
	d->nb = c->nb_listeners;
	d->responders = malloc(d->nb * sizeof(*d->responders));
	if (d->responders == NULL)
		return false;
	memset(d->responders, DISCOVERY_NONE, c->nb_listeners * sizeof(*d->responders));
	for (uint32_t i = 0; i < c->nb_listeners; i++)
		if (c->listeners[i].transport == TURN_OVER_UDP &&
			is_one(c, &c->listeners[i].endpoint))
			fill_responders(d->responders[i], c, &c->listeners[i].endpoint);
	return true;
}

void discovery_free(struct discovery *d)
{
	free(d->responders);
	d->responders = NULL;
}

// The listeners that send the answers to a request, by flags; NULL if discovery is off.
static const uint8_t *from_of(const struct turn_request *r)
{
	const struct discovery *d = &r->s->policy->discovery;

	if (d->responders == NULL || r->v->listener >= d->nb ||
		d->responders[r->v->listener][0] == DISCOVERY_NONE)
		return NULL;
	return d->responders[r->v->listener];
}

// RFC 3489 clients send CHANGE-REQUEST even if they want no change.
static bool is_no_change(const struct turn_request *r)
{
	uint16_t off, alen;

	return stun_is_rfc3489(&r->m) && stun_find(&r->m, CHANGE_REQUEST, &off, &alen) &&
		alen == 4 && load_be32(r->m.data + off) == 0;
}

bool discovery_knows(const struct turn_request *r, uint16_t type)
{
	if (r->m.method != STUN_BINDING)
		return false;
	if (from_of(r) == NULL)
		return type == CHANGE_REQUEST && is_no_change(r);
	return type == CHANGE_REQUEST || type == PADDING || type == RESPONSE_PORT;
}

// --- reading requests ----------------------------------------------------------------------------

static bool read_change(struct turn_request *r)
{
	uint16_t off, alen;

	if (!stun_find(&r->m, CHANGE_REQUEST, &off, &alen))
		return true;
	if (alen != 4)
		return false;
	r->discovery.flags = r->m.data[off + 3] >> 1 & (DISCOVERY_PORT | DISCOVERY_IP);
	return true;
}

// RFC 5780 7.5: 16 bits and two bytes of padding, which may be the attribute's own (RFC 8489 14).
static bool read_port(struct turn_request *r)
{
	uint16_t off, alen;

	if (!stun_find(&r->m, RESPONSE_PORT, &off, &alen))
		return true;
	if (alen != 2 && alen != 4)
		return false;
	r->discovery.port = load_be16(r->m.data + off);
	return r->discovery.port != 0 && !r->discovery.has_padding;
}

bool discovery_read(struct turn_request *r)
{
	uint16_t off;

	r->discovery.has_padding = stun_find(&r->m, PADDING, &off, &r->discovery.padding);
	return read_change(r) && read_port(r);
}

// --- writing answers -----------------------------------------------------------------------------

static void put_listener(struct turn_request *r, enum stun_attr a, uint8_t listener)
{
	struct endpoint e = r->s->listener[listener].endpoint;

	e.addr = external_told(&r->s->policy->external, &e.addr);
	stun_put_addr(&r->w, a, &e);
}

void discovery_put(struct turn_request *r)
{
	const struct endpoint client = {r->v->src, r->v->src_port};
	const uint8_t *responders = from_of(r);

	if (responders == NULL)
		return;
	if (!stun_is_rfc3489(&r->m)) // the answer already has it
		stun_put_addr(&r->w, STUN_MAPPED_ADDRESS, &client);
	put_listener(r, STUN_RESPONSE_ORIGIN, responders[r->discovery.flags]);
	put_listener(r, STUN_OTHER_ADDRESS, responders[DISCOVERY_IP | DISCOVERY_PORT]);
	if (r->discovery.has_padding)
		stun_put_padding(&r->w,
			r->discovery.padding < PADDING_MAX ? r->discovery.padding : PADDING_MAX);
}

void discovery_plan(const struct turn_request *r, struct turn_plan *plan)
{
	if (r->discovery.flags == 0 && r->discovery.port == 0)
		return;
	plan->flags = TURN_PLAN_ASIDE;
	plan->flow = from_of(r)[r->discovery.flags];
	plan->channel = r->discovery.port != 0 ? r->discovery.port : r->v->src_port;
}
