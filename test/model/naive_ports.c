// SPDX-License-Identifier: BSD-3-Clause
// The resources of an allocation: a relay port (RFC 8656 7.2), and a count in the quotas.
#include "naive.h"

static struct naive_port *port_at(struct naive *n, const struct endpoint *e)
{
	return &n->port[addr_is_v4(&e->addr) ? 0 : 1][e->port - n->config->port_lo];
}

struct naive_hold *naive_holder(struct naive *n, const struct endpoint *e)
{
	for (unsigned int i = 0; i < NAIVE_HOLDS; i++)
		if (n->hold[i].used && endpoint_eq(&n->hold[i].relay, e))
			return &n->hold[i];
	return NULL;
}

static bool port_exists(const struct naive *n, const struct endpoint *e)
{
	if (e->port < n->config->port_lo || e->port > n->config->port_hi)
		return false;
	for (uint32_t i = 0; i < n->config->nb_listeners; i++)
		if (endpoint_eq(&n->config->listeners[i].endpoint, e))
			return false;
	return true;
}

void naive_release(struct naive *n, struct naive_hold *h)
{
	struct naive_port *p = port_at(n, &h->relay);

	p->lo_ms = naive_live(n, h) ? n->now_ms : h->expires_ms;
	p->hi_ms = n->now_ms;
	h->used = false;
}

// Time at which the port became free, as far as known; false if it is not free.
static bool port_freed(struct naive *n, const struct endpoint *e, struct naive_port *freed)
{
	const struct naive_hold *h = naive_holder(n, e);

	if (!port_exists(n, e) || (h != NULL && naive_live(n, h)))
		return false;
	*freed = *port_at(n, e);
	if (h != NULL)
		*freed = (struct naive_port){h->expires_ms, UINT64_MAX}; // perhaps not yet
	return true;
}

enum port_kind { PORT_ANY, PORT_EVEN, PORT_PAIR };

// Like port_freed for the ports that an Allocate asks for at e: for a pair of ports the later time
// counts.
static bool choice_freed(
	struct naive *n, const struct endpoint *e, enum port_kind kind, struct naive_port *freed)
{
	const struct endpoint next = {e->addr, (uint16_t)(e->port + 1)};
	struct naive_port second;

	if ((kind != PORT_ANY && e->port % 2 != 0) || !port_freed(n, e, freed))
		return false;
	if (kind != PORT_PAIR)
		return true;
	if (!port_freed(n, &next, &second))
		return false;
	if (second.lo_ms > freed->lo_ms)
		freed->lo_ms = second.lo_ms;
	if (second.hi_ms > freed->hi_ms)
		freed->hi_ms = second.hi_ms;
	return true;
}

static enum port_kind kind_of(const struct op *op)
{
	return op->even < 0 ? PORT_ANY : op->even == 0 ? PORT_EVEN : PORT_PAIR;
}

// A port rests for the quarantine (rest_ms). If no port has rested that long, the one that has
// rested longest may be used after a second: this minimum. A port is never used in the millisecond
// in which it became free.
static uint64_t rest_least_ms(const struct naive *n)
{
	return n->config->quarantine_s == 0 ? 1 : 1000;
}

static uint64_t rest_ms(const struct naive *n)
{
	return n->config->quarantine_s == 0 ? 1 : n->config->quarantine_s * UINT64_C(1000);
}

static bool is_past(const struct naive *n, uint64_t t, uint64_t span)
{
	return t != UINT64_MAX && n->now_ms >= t + span;
}

static bool was_never_used(const struct naive_port *p)
{
	return p->hi_ms == 0;
}

void naive_rest_anew(struct naive *n)
{
	for (unsigned int family = 0; family < 2; family++)
		for (unsigned int i = 0; i < MODEL_PORTS; i++) {
			struct naive_port *p = &n->port[family][i];

			if (!was_never_used(p) && !is_past(n, p->hi_ms, rest_ms(n)))
				p->hi_ms = n->now_ms;
		}
}

// True if an Allocate for one family gets IPv6 (7.2 (7), relay.default-family).
static bool is_v6(const struct naive *n, const struct op *op)
{
	if (op->family != 0)
		return op->family == 2;
	if (n->config->default_family == TURN_FAMILY_CLIENT)
		return !addr_is_v4(&n->w->client[op->client].endpoint.addr);
	return n->config->default_family == TURN_FAMILY_IPV6;
}

void naive_port_codes(
	struct naive *n, const struct op *op, struct naive_set *allowed, bool *success)
{
	struct endpoint e = {.addr = n->config->relay[is_v6(n, op) ? 1 : 0]};
	struct naive_port freed;
	bool perhaps = false, surely = false;

	for (unsigned int p = n->config->port_lo; p <= n->config->port_hi; p++) {
		e.port = (uint16_t)p;
		if (!choice_freed(n, &e, kind_of(op), &freed))
			continue;
		perhaps = perhaps || is_past(n, freed.lo_ms, rest_least_ms(n));
		surely = surely || is_past(n, freed.hi_ms, rest_least_ms(n));
	}
	if (!surely)
		naive_may(allowed, 508);
	*success = *success && perhaps;
}

// Judges if the port given was allowed.
const char *naive_judge_port(struct naive *n, const struct op *op, const struct endpoint *e)
{
	struct endpoint candidate = {.addr = e->addr};
	struct naive_port mine, freed;

	if (!addr_eq(&e->addr, &n->config->relay[is_v6(n, op) ? 1 : 0]))
		return "relayed transport address of the wrong family or not ours";
	if (!port_exists(n, e))
		return "relayed port out of range or a listener's";
	if (!choice_freed(n, e, kind_of(op), &mine))
		return "relayed port is taken or has the wrong parity";
	if (!is_past(n, mine.lo_ms, rest_least_ms(n)) && !was_never_used(&mine))
		return "relayed port has not rested";
	n->early = -1;
	if (is_past(n, mine.hi_ms, rest_ms(n)))
		n->early = 0;
	if (was_never_used(&mine) || is_past(n, mine.lo_ms, rest_ms(n)))
		return NULL;
	n->early = 1;
	for (unsigned int p = n->config->port_lo; p <= n->config->port_hi; p++) {
		candidate.port = (uint16_t)p;
		if (!choice_freed(n, &candidate, kind_of(op), &freed))
			continue;
		if (is_past(n, freed.hi_ms, rest_ms(n)))
			return "relayed port reused early though another one had rested";
		if (kind_of(op) != PORT_PAIR && freed.hi_ms < mine.lo_ms)
			return "relayed port reused early though another one had rested longer";
	}
	return NULL;
}

// --- quota

static bool same_source(const struct addr *a, const struct addr *b)
{
	return addr_is_v4(a) || addr_is_v4(b) ? addr_eq(a, b) : memcmp(a, b, 8) == 0;
}

static bool same_network(const struct addr *a, const struct addr *b)
{
	return !addr_is_v4(a) && !addr_is_v4(b) && memcmp(a, b, 6) == 0;
}

// RFC 8656 7.2: if only half of a pair fits, it is refused as a pair (8), not for the quota (10).
static void limit_code(uint32_t limit, const unsigned int count[2], unsigned int add,
	struct naive_set *allowed, bool *success)
{
	if (limit == 0)
		return;
	if (count[1] - (add - 1) > limit)
		naive_may(allowed, 486);
	if (add == 2 && count[1] > limit && count[0] - 1 <= limit)
		naive_may(allowed, 508);
	if (count[0] > limit)
		*success = false;
}

// Counts the allocations of a quota together with the requested one, as minimum and maximum. A
// reservation counts for its maker until it is claimed.
void naive_quota_codes(struct naive *n, const struct op *op, const struct naive_count *c,
	struct naive_set *allowed, bool *success)
{
	const struct addr *source = &n->w->client[op->client].endpoint.addr;
	const unsigned int add = op->even == 1 ? 2 : 1, all = add + c->beside;
	unsigned int total[2] = {all, all}, user[2] = {all, all}, per_source[2] = {all, all};
	unsigned int network[2] = {all, all};

	for (unsigned int i = 0; i < NAIVE_HOLDS; i++) {
		const struct naive_hold *h = &n->hold[i];

		if (!h->used)
			continue;
		for (int most = naive_live(n, h) && h != c->taken_up ? 0 : 1; most < 2; most++) {
			total[most]++;
			user[most] += h->user == op->user;
			per_source[most] += same_source(&h->source, source);
			network[most] += same_network(&h->source, source);
		}
	}
	limit_code(n->config->limits.allocations, total, add, allowed, success);
	limit_code(n->config->limits.per_user, user, add, allowed, success);
	limit_code(n->config->limits.per_source, per_source, add, allowed, success);
	if (!addr_is_v4(source))
		limit_code(8 * n->config->limits.per_source, network, add, allowed, success);
	if (op->user == MODEL_OTHER && turn_config_nb_realms(n->config) > 1) // it has no other user
		limit_code(
			turn_config_realm(n->config, 1)->allocations, user, add, allowed, success);
}
