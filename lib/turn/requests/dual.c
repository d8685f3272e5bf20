// SPDX-License-Identifier: BSD-3-Clause
// Allocate and Refresh for two allocations of one client (RFC 8656 7.2, 8.1, 8.2).
#include "requests/dual.h"
#include "events/tell.h"
#include "relayed/external.h"
#include "relayed/relayed.h"
#include "requests/elsewhere.h"
#include "requests/method.h"
#include "shard.h"

enum turn_refusal dual_wanted(const struct turn_request *r, enum relay_ports_kind kind)
{
	const struct stun_msg *m = &r->m;

	if (stun_has(m, STUN_REQUESTED_ADDRESS_FAMILY) || kind == RELAY_PORTS_PAIR ||
		m->alen[STUN_ADDITIONAL_ADDRESS_FAMILY] != 4 ||
		m->data[m->off[STUN_ADDITIONAL_ADDRESS_FAMILY]] != FAMILY_IPV6)
		return TURN_REFUSED_MALFORMED;
	return TURN_GRANTED;
}

// --- Allocate ------------------------------------------------------------------------------------

// A relayed transport address that is allocated and counted, or the reason why it is not.
struct taken {
	enum turn_refusal refusal;
	uint32_t slot;
	struct quota_ref quota;
};

static struct taken take_half(const struct turn_request *r, bool is_v4, enum relay_ports_kind kind)
{
	struct turn_shard *s = r->s;
	struct taken t = {.refusal = TURN_REFUSED_FAMILY};
	struct relayed_want want = {
		.is_v4 = is_v4, .kind = kind, .per_user = r->policy->limits.per_user};

	if (!relayed_has_family(s, is_v4))
		return t;
	t.refusal = method_count_one(r, &t.quota);
	if (t.refusal != TURN_GRANTED)
		return t;
	want.user = t.quota.user;
	t.refusal = relayed_take(s, &want, &t.slot);
	if (t.refusal != TURN_GRANTED)
		quota_give(s->quota, &t.quota);
	return t;
}

static void give_half(const struct turn_request *r, const struct taken *t)
{
	quota_give(r->s->quota, &t->quota);
	relayed_give_unused(r->s, t->slot, t->quota.user);
}

// Makes both allocations. If that fails, it frees both addresses.
static enum turn_refusal make_both(
	struct turn_request *r, const struct taken *first, const struct taken *second, uint32_t ms)
{
	struct turn_shard *s = r->s;
	struct alloc_new n = {.slot = first->slot,
		.lifetime_ms = ms,
		.tid = stun_tid(&r->m),
		.cred = &r->cred,
		.quota = first->quota};

	if (!alloc_make(s, r->v, &n)) {
		give_half(r, first);
		give_half(r, second);
		return TURN_REFUSED_NO_MEMORY;
	}
#define X(wanted, made, put) made(r, first->slot);
	TURN_ALLOCATE(X)
#undef X
	n.slot = second->slot;
	n.quota = second->quota;
	alloc_join(s, first->slot, &n);
	r->slot = second->slot;
	tell_made(r);
	r->slot = first->slot;
	tell_made(r);
	method_put_allocation(r, r->slot);
	return TURN_GRANTED;
}

// Counts an Allocate that got one of two addresses.
static void count_half(struct turn_shard *s, bool has_family)
{
	if (has_family)
		s->stats.half_capacity++;
	else
		s->stats.half_family++;
}

// Looks for another worker that has the missing addresses: of both families, or of one.
static void seek_elsewhere(struct turn_request *r, enum relay_ports_kind kind, bool v4, bool v6,
	enum turn_refusal refusal)
{
	const struct elsewhere_want want = {.family = {v6, v4}, .kind = (uint8_t)kind};

	elsewhere_allocate(r, &want, refusal);
}

// This worker has an address of neither family. A worker that has both is preferred to one that has
// one of them.
static enum turn_refusal seek_either(struct turn_request *r, enum relay_ports_kind kind,
	enum turn_refusal why_v4, enum turn_refusal why_v6)
{
	const bool v4 = elsewhere_may_help(why_v4), v6 = elsewhere_may_help(why_v6);

	if (v4 && v6)
		seek_elsewhere(r, kind, true, true, why_v4);
	if (v4 && !r->handover)
		seek_elsewhere(r, kind, true, false, why_v4);
	if (v6 && !r->handover)
		seek_elsewhere(r, kind, false, true, why_v6);
	if (r->handover)
		return TURN_GRANTED;
	// a missing family of the box is not the reason to report
	return why_v4 != TURN_REFUSED_FAMILY ? why_v4 : why_v6;
}

// One of the two addresses is allocated. If another worker has both families, the client's home has
// both allocations made there.
static enum turn_refusal seek_missing_half(struct turn_request *r, enum relay_ports_kind kind,
	const struct taken *one, enum turn_refusal refusal)
{
	if (r->v->via == TURN_NO_WORKER && elsewhere_may_help(refusal))
		seek_elsewhere(r, kind, true, true, refusal);
	if (r->handover)
		give_half(r, one);
	return r->handover ? TURN_GRANTED : refusal;
}

enum turn_refusal dual_allocate(
	struct turn_request *r, enum relay_ports_kind kind, uint32_t lifetime_s)
{
	const struct taken v4 = take_half(r, true, kind), v6 = take_half(r, false, kind);
	const bool has_v4 = v4.refusal == TURN_GRANTED, has_v6 = v6.refusal == TURN_GRANTED;
	const struct taken *one = has_v4 ? &v4 : &v6;
	enum turn_refusal refusal;

	if (!has_v4 && !has_v6)
		return seek_either(r, kind, v4.refusal, v6.refusal);
	if (has_v4 && has_v6)
		return make_both(r, &v4, &v6, lifetime_s * 1000);
	if (seek_missing_half(r, kind, one, has_v4 ? v6.refusal : v4.refusal) == TURN_GRANTED)
		return TURN_GRANTED;
	refusal = method_allocate_on(r, one->slot, lifetime_s, &one->quota);
	if (refusal == TURN_GRANTED)
		count_half(r->s, relayed_has_family(r->s, !has_v4));
	return refusal;
}

static void put_one(struct turn_request *r, uint32_t slot)
{
	struct endpoint relay = alloc_relay(r->s, slot);

	relay.addr = external_told(&r->s->policy->external, &relay.addr);
	stun_put_xor_addr(&r->w, STUN_XOR_RELAYED_ADDRESS, &relay);
}

// Appends the reason why an address of a requested family is missing. A box neither gains nor loses
// a family while it runs, so a retransmission gets the same reason.
static void put_missing(struct turn_request *r, bool is_v4)
{
	const uint8_t family = is_v4 ? FAMILY_IPV4 : FAMILY_IPV6;

	if (relayed_has_family(r->s, is_v4))
		stun_put_address_error(&r->w, family, 508, "Insufficient Capacity");
	else
		stun_put_address_error(&r->w, family, 440, "Address Family not Supported");
}

void dual_put_relayed(struct turn_request *r, uint32_t slot)
{
	const uint32_t sibling = alloc_sibling(r->s, slot);
	const bool is_v4 = alloc_is_v4(r->s, slot);

	if (sibling != TURN_NONE) {
		put_one(r, is_v4 ? slot : sibling);
		put_one(r, is_v4 ? sibling : slot);
		return;
	}
	put_one(r, slot);
	if (stun_has(&r->m, STUN_ADDITIONAL_ADDRESS_FAMILY))
		put_missing(r, !is_v4);
}

uint32_t dual_left(const struct turn_shard *s, uint32_t slot)
{
	const uint32_t sibling = alloc_sibling(s, slot), left_ms = alloc_left(s, slot);

	return sibling != TURN_NONE && alloc_left(s, sibling) < left_ms ? alloc_left(s, sibling)
									: left_ms;
}

// --- Refresh -------------------------------------------------------------------------------------

static void refresh_slot(struct turn_request *r, uint32_t slot, uint32_t lifetime_s)
{
	if (lifetime_s == 0)
		return alloc_end(r->s, slot, TURN_END_CLIENT);
	alloc_refresh(r->s, slot, lifetime_s);
	r->slot = slot;
	tell_interim(r);
}

enum turn_refusal dual_refresh(struct turn_request *r, uint8_t family, uint32_t lifetime_s)
{
	const uint32_t slot =
		family != 0 ? alloc_of_family(r->s, r->slot, family == FAMILY_IPV4) : r->slot;
	const uint32_t sibling = family == 0 ? alloc_sibling(r->s, slot) : TURN_NONE;

	if (slot == TURN_NONE)
		return TURN_REFUSED_PEER_FAMILY;
	refresh_slot(r, slot, lifetime_s);
	if (sibling != TURN_NONE)
		refresh_slot(r, sibling, lifetime_s);
	return TURN_GRANTED;
}
