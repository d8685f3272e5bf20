// SPDX-License-Identifier: BSD-3-Clause
// The handlers of authenticated requests (RFC 8656 sections 7.2 and 8.2; 10.2 and 12.2 are in
// permit.c), with the checks in the order of the RFC. A handler that refuses leaves no changes.
#include <netinet/in.h>

#include "events/tell.h"
#include "requests/dual.h"
#include "requests/elsewhere.h"
#include "requests/method.h"
#include "relayed/relay_map.h"
#include "relayed/relayed.h"
#include "shard.h"

enum turn_refusal method_binding(struct turn_request *r)
{
	const struct endpoint client = {r->v->src, r->v->src_port};

	if (stun_is_rfc3489(&r->m))
		stun_put_addr(&r->w, STUN_MAPPED_ADDRESS, &client);
	else
		stun_put_xor_addr(&r->w, STUN_XOR_MAPPED_ADDRESS, &client);
#define X(knows, read, put, plan) put(r);
	TURN_BINDING(X)
#undef X
	return TURN_GRANTED;
}

// --- Allocate ------------------------------------------------------------------------------------

// Limits a lifetime to the remaining time of the credentials, which have not expired.
static uint32_t bounded_lifetime(const struct turn_request *r, uint32_t lifetime_s)
{
	const uint64_t left_s = r->cred.expiry_s - r->s->wall_s;

	if (left_s >= lifetime_s)
		return lifetime_s;
	return left_s > 0 ? (uint32_t)left_s : 1;
}

// Applies the LIFETIME rules of RFC 8656 7.2 and 8.2: the result is at most max and at least
// default, unless the user's credentials expire earlier. *zero: the request asks for 0. False if
// the attribute is malformed.
static bool lifetime_of(const struct turn_request *r, uint32_t *lifetime_s, bool *zero)
{
	const struct turn_limits *l = &r->s->policy->limits;
	uint32_t asked = l->lifetime_default_s;

	if (stun_has(&r->m, STUN_LIFETIME) && !stun_get_u32(&r->m, STUN_LIFETIME, &asked))
		return false;
	*zero = asked == 0;
	if (asked > l->lifetime_max_s)
		asked = l->lifetime_max_s;
	*lifetime_s = asked > l->lifetime_default_s ? asked : l->lifetime_default_s;
	if ((r->s->policy->rest_expiry == TURN_REST_ENDS && r->cred.rest) ||
		cred_is_token(&r->cred))
		*lifetime_s = bounded_lifetime(r, *lifetime_s);
	return true;
}

void method_put_allocation(struct turn_request *r, uint32_t slot)
{
	const struct turn_shard *s = r->s;
	const struct endpoint client = {r->v->src, r->v->src_port};

	dual_put_relayed(r, slot);
	stun_put_u32(&r->w, STUN_LIFETIME, (dual_left(s, slot) + 999) / 1000);
	stun_put_xor_addr(&r->w, STUN_XOR_MAPPED_ADDRESS, &client);
#define X(wanted, made, put) put(r, slot);
	TURN_ALLOCATE(X)
#undef X
}

// True for a retransmission of the Allocate that made the 5-tuple's allocation; it gets the same
// answer again (RFC 8489 6.3.1).
static bool is_sent_again(const struct turn_request *r)
{
	const struct turn_cold *c = cold_at(r->s, r->slot);
	const uint32_t tid = c->is_dual ? cold_at(r->s, c->sibling)->ident_hash : c->tid;

	return tid == alloc_tid(r->s, stun_tid(&r->m)) &&
		c->ident_hash == alloc_who(r->s, r->cred.ident);
}

// The checked parameters of an Allocate.
struct wanted {
	uint32_t lifetime_s;
	bool is_v4, is_dual; // is_dual: both families
	// For a transport other than UDP (lib/features/meson.build); NULL = UDP.
	enum turn_refusal (*allocate)(struct turn_request *r, bool is_v4, uint32_t lifetime_s);
	enum relay_ports_kind kind;
};

// The family for an Allocate without a family. With the setting "client", a client whose family
// has no relay address gets the other family.
static uint8_t family_default(const struct turn_request *r)
{
	const bool is_v4 = addr_is_v4(&r->v->src);

	switch (r->s->policy->default_family) {
	case TURN_FAMILY_IPV6:
		return FAMILY_IPV6;
	case TURN_FAMILY_CLIENT:
		if (!relayed_has_family(r->s, is_v4))
			return is_v4 ? FAMILY_IPV6 : FAMILY_IPV4;
		return is_v4 ? FAMILY_IPV4 : FAMILY_IPV6;
	default:
		return FAMILY_IPV4;
	}
}

static enum turn_refusal family_wanted(const struct turn_request *r, struct wanted *w)
{
	const struct stun_msg *m = &r->m;
	const uint8_t *value = m->data + m->off[STUN_REQUESTED_ADDRESS_FAMILY];

	w->is_v4 = family_default(r) == FAMILY_IPV4;
	if (stun_has(m, STUN_ADDITIONAL_ADDRESS_FAMILY)) {
		w->is_dual = true;
		return dual_wanted(r, w->kind);
	}
	if (stun_has(m, STUN_REQUESTED_ADDRESS_FAMILY)) {
		if (m->alen[STUN_REQUESTED_ADDRESS_FAMILY] != 4)
			return TURN_REFUSED_MALFORMED;
		if (value[0] != FAMILY_IPV4 && value[0] != FAMILY_IPV6)
			return TURN_REFUSED_FAMILY;
		w->is_v4 = value[0] == FAMILY_IPV4;
	}
	return relayed_has_family(r->s, w->is_v4) ? TURN_GRANTED : TURN_REFUSED_FAMILY;
}

enum relay_ports_kind method_ports_kind(const struct turn_request *r)
{
	const struct stun_msg *m = &r->m;

	if (!stun_has(m, STUN_EVEN_PORT))
		return RELAY_PORTS_ANY;
	return (m->data[m->off[STUN_EVEN_PORT]] & 0x80) != 0 ? RELAY_PORTS_PAIR : RELAY_PORTS_EVEN;
}

// True if an Allocate names its relay port.
static bool names_port(const struct turn_request *r)
{
	bool names = false;

#define X(is_named, named, pair) names = names || is_named(r);
	TURN_PORTS(X)
#undef X
	return names;
}

// Checks 3 to 8 of RFC 8656 7.2.
static enum turn_refusal allocate_wanted(const struct turn_request *r, struct wanted *w)
{
	const struct stun_msg *m = &r->m;
	uint8_t protocol;
	bool zero;

	*w = (struct wanted){.kind = RELAY_PORTS_ANY};
	if (m->alen[STUN_REQUESTED_TRANSPORT] != 4)
		return TURN_REFUSED_MALFORMED;
	protocol = m->data[m->off[STUN_REQUESTED_TRANSPORT]];
#define X(number, is_on, may_ask, allocates)     \
	if (protocol == (number) && is_on(r->s)) \
		w->allocate = allocates;
	TURN_TRANSPORTS(X)
#undef X
	if (protocol != IPPROTO_UDP && w->allocate == NULL)
		return TURN_REFUSED_TRANSPORT;
#define X(wanted, made, put)           \
	if (wanted(r) != TURN_GRANTED) \
		return wanted(r);
	TURN_ALLOCATE(X)
#undef X
	if (!lifetime_of(r, &w->lifetime_s, &zero))
		return TURN_REFUSED_MALFORMED;
#define X(number, is_on, may_ask, allocates)                          \
	if (w->allocate == (allocates) && may_ask(r) != TURN_GRANTED) \
		return may_ask(r);
	TURN_TRANSPORTS(X)
#undef X
	if (names_port(r))
		return TURN_GRANTED;
	if (stun_has(m, STUN_EVEN_PORT) && m->alen[STUN_EVEN_PORT] != 1)
		return TURN_REFUSED_MALFORMED;
	w->kind = method_ports_kind(r);
	return family_wanted(r, w);
}

enum turn_refusal method_count_one(const struct turn_request *r, struct quota_ref *ref)
{
	const struct turn_shard *s = r->s;
	uint8_t ident[TURN_IDENT_LEN];

	if (!cred_quota_ident(r->policy, s->crypto, &r->m, &r->cred, ident))
		return TURN_REFUSED_INTERNAL;
	return quota_take(s->quota, &r->policy->limits, ident, &r->v->src, ref);
}

enum turn_refusal method_allocate_on(
	struct turn_request *r, uint32_t slot, uint32_t lifetime_s, const struct quota_ref *quota)
{
	struct turn_shard *s = r->s;
	const struct alloc_new n = {.slot = slot,
		.lifetime_ms = lifetime_s * 1000,
		.tid = stun_tid(&r->m),
		.cred = &r->cred,
		.quota = *quota};

	if (!alloc_make(s, r->v, &n)) {
		quota_give(s->quota, quota);
		relayed_give(s, slot, quota->user);
		return TURN_REFUSED_NO_MEMORY;
	}
#define X(wanted, made, put) made(r, slot);
	TURN_ALLOCATE(X)
#undef X
	r->slot = slot;
	method_put_allocation(r, slot);
	tell_made(r);
	return TURN_GRANTED;
}

// Makes the allocation on a port that the request names.
static enum turn_refusal allocate_named(struct turn_request *r, const struct wanted *w)
{
#define X(is_named, named, pair) \
	if (is_named(r))         \
		return named(r, w->lifetime_s);
	TURN_PORTS(X)
#undef X
	return TURN_REFUSED_INTERNAL;
}

// Makes the allocation on an even port whose neighbour stays free for another one. RFC 8656 7.2
// (8): 508 if the server cannot do that.
static enum turn_refusal allocate_pair(struct turn_request *r, const struct wanted *w)
{
#define X(is_named, named, pair) return pair(r, w->is_v4, w->lifetime_s);
	TURN_PORTS(X)
#undef X
	return TURN_REFUSED_SHARED_PORT;
}

// Takes the quota before the port. A freed port must rest again, so a client at its limit could
// otherwise quickly put all ports to rest.
static enum turn_refusal allocate_fresh(struct turn_request *r, const struct wanted *w)
{
	struct turn_shard *s = r->s;
	struct quota_ref quota;
	enum turn_refusal refusal = method_count_one(r, &quota);
	uint32_t slot;

	if (refusal != TURN_GRANTED)
		return refusal;
	refusal = relayed_take(s,
		&(struct relayed_want){w->is_v4, w->kind, quota.user, r->policy->limits.per_user},
		&slot);
	if (refusal == TURN_GRANTED)
		return method_allocate_on(r, slot, w->lifetime_s, &quota);
	quota_give(s->quota, &quota);
	return elsewhere_allocate(r,
		&(struct elsewhere_want){{!w->is_v4, w->is_v4}, .kind = (uint8_t)w->kind}, refusal);
}

// True if the 5-tuple has no allocation, or loses it now.
static bool is_free(struct turn_request *r)
{
#define X(may_move, leave, used)                                \
	if (r->slot != TURN_NONE && leave(r->s, r->slot, r->v)) \
		r->slot = TURN_NONE;
	TURN_TUPLES(X)
#undef X
	return r->slot == TURN_NONE;
}

// The reason to refuse any new allocation, whatever the client asks for, or TURN_GRANTED.
static enum turn_refusal refuse_new(const struct turn_request *r)
{
#define X(refuse, put)                                \
	if (refuse(r, names_port(r)) != TURN_GRANTED) \
		return refuse(r, names_port(r));
	TURN_REFUSE_NEW(X)
#undef X
	return r->s->intake.drains ? TURN_REFUSED_DRAINING : TURN_GRANTED;
}

enum turn_refusal method_allocate(struct turn_request *r)
{
	enum turn_refusal refusal;
	struct wanted w;

	if (r->slot != TURN_NONE && is_sent_again(r)) {
		method_put_allocation(r, r->slot);
		return TURN_GRANTED;
	}
	if (!is_free(r))
		return TURN_REFUSED_ALLOCATED;
	// signed with the key of the allocation's token: another allocation needs one (RFC 7635)
	if (cred_is_token(&r->cred) && r->cred.expiry_s == 0)
		return TURN_REFUSED_ALLOCATED;
	refusal = allocate_wanted(r, &w);
	if (refusal == TURN_GRANTED)
		refusal = refuse_new(r);
	if (refusal != TURN_GRANTED)
		return refusal;
	if (w.allocate != NULL)
		return w.allocate(r, w.is_v4, w.lifetime_s);
	// a shared port cannot be reserved for one client, nor can its neighbour
	if (shard_shares_ports(r->s) && (names_port(r) || w.kind != RELAY_PORTS_ANY))
		return TURN_REFUSED_SHARED_PORT;
	if (w.is_dual)
		return dual_allocate(r, w.kind, w.lifetime_s);
	if (names_port(r))
		return allocate_named(r, &w);
	return w.kind == RELAY_PORTS_PAIR ? allocate_pair(r, &w) : allocate_fresh(r, &w);
}

// --- Refresh -------------------------------------------------------------------------------------

// True if a Refresh of a family (0: both) covers all allocations of the client.
static inline bool ends_all(const struct turn_request *r, uint8_t family)
{
	return family == 0 || alloc_sibling(r->s, r->slot) == TURN_NONE;
}

enum turn_refusal method_refresh(struct turn_request *r)
{
	const struct stun_msg *m = &r->m;
	enum turn_refusal refusal;
	uint8_t family = 0;
	uint32_t lifetime_s;
	bool zero;

	if (!lifetime_of(r, &lifetime_s, &zero))
		return TURN_REFUSED_MALFORMED;
	if (stun_has(m, STUN_REQUESTED_ADDRESS_FAMILY)) {
		if (m->alen[STUN_REQUESTED_ADDRESS_FAMILY] != 4)
			return TURN_REFUSED_MALFORMED;
		family = m->data[m->off[STUN_REQUESTED_ADDRESS_FAMILY]];
		if (family != FAMILY_IPV4 && family != FAMILY_IPV6)
			return TURN_REFUSED_PEER_FAMILY;
	}
	if (zero)
		lifetime_s = 0;
	if (family != 0 && alloc_of_family(r->s, r->slot, family == FAMILY_IPV4) == TURN_NONE)
		return TURN_REFUSED_PEER_FAMILY;
#define X(is_named, find, begin)                                    \
	refusal = begin(r, lifetime_s == 0 && ends_all(r, family)); \
	if (refusal != TURN_GRANTED)                                \
		return refusal;
	TURN_NAMED(X)
#undef X
	refusal = dual_refresh(r, family, lifetime_s);
	if (refusal != TURN_GRANTED)
		return refusal;
	if (lifetime_s > 0) {
#define X(done) done(r);
		TURN_REFRESHED(X)
#undef X
	}
	stun_put_u32(&r->w, STUN_LIFETIME, lifetime_s);
	return TURN_GRANTED;
}
