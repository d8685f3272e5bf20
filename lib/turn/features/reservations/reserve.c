// SPDX-License-Identifier: BSD-3-Clause
// Allocates with EVEN-PORT, if it reserves a port, and with RESERVATION-TOKEN (RFC 8656 7.2).
#include "features/reservations/reserve.h"

#include <netinet/in.h>

#include "features/reservations/reservation.h"
#include "relayed/relayed.h"
#include "requests/elsewhere.h"
#include "requests/method.h"
#include "shard.h"

// A TCP port is never reserved (RFC 6062 5.1).
enum turn_refusal reserve_wanted(const struct turn_request *r)
{
	const struct stun_msg *m = &r->m;

	return stun_has(m, STUN_EVEN_PORT) || stun_has(m, STUN_REQUESTED_ADDRESS_FAMILY) ||
			stun_has(m, STUN_ADDITIONAL_ADDRESS_FAMILY) ||
			m->data[m->off[STUN_REQUESTED_TRANSPORT]] != IPPROTO_UDP ||
			m->alen[STUN_RESERVATION_TOKEN] != TURN_TOKEN_LEN
		? TURN_REFUSED_MALFORMED
		: TURN_GRANTED;
}

// True if ref is the reference under which an allocation of the requester would count.
static bool is_counted(const struct turn_request *r, const struct quota_ref *ref)
{
	const struct turn_shard *s = r->s;
	uint8_t ident[TURN_IDENT_LEN];

	return cred_quota_ident(r->policy, s->crypto, &r->m, &r->cred, ident) &&
		quota_is(s->quota, ident, &r->v->src, ref);
}

enum turn_refusal reserve_named(struct turn_request *r, uint32_t lifetime_s)
{
	struct turn_shard *s = r->s;
	const uint8_t *token = r->m.data + r->m.off[STUN_RESERVATION_TOKEN];
	const uint8_t home = token[0];
	enum turn_refusal refusal;
	struct quota_ref quota;
	uint32_t slot;

	if (home != s->worker) {
		if (home >= s->workers || r->v->via != TURN_NO_WORKER)
			return TURN_REFUSED_TOKEN;
		return elsewhere_lead(r, home);
	}
	slot = reservation_find(s, token);
	if (slot == TURN_NONE)
		return TURN_REFUSED_TOKEN;
	// The user who made the reservation has been counted for it. Another user may be at their
	// limit; a refusal then must not change the reservation.
	if (is_counted(r, &cold_at(s, slot)->reserved.quota)) {
		quota = cold_at(s, slot)->reserved.quota;
		reservation_take(s, slot);
	} else {
		refusal = method_count_one(r, &quota);
		if (refusal != TURN_GRANTED)
			return refusal;
		relayed_pass(s, slot, cold_at(s, slot)->reserved.quota.user, quota.user);
		reservation_end(s, slot);
	}
	return method_allocate_on(r, slot, lifetime_s, &quota);
}

// Counts two allocations. RFC 8656 7.2 (8): a user who may have one more and asks for a pair gets
// 508, after which a client may ask for one at once. 486 would make it wait for a minute (7.4).
static enum turn_refusal count_two(const struct turn_request *r, struct quota_ref quota[2])
{
	const enum turn_refusal refusal = method_count_one(r, &quota[0]);

	if (refusal != TURN_GRANTED || method_count_one(r, &quota[1]) == TURN_GRANTED)
		return refusal;
	quota_give(r->s->quota, &quota[0]);
	return TURN_REFUSED_QUOTA_PAIR;
}

static enum turn_refusal make_pair(
	struct turn_request *r, uint32_t slot, uint32_t lifetime_s, const struct quota_ref quota[2])
{
	struct turn_shard *s = r->s;
	enum turn_refusal refusal;

	if (!reservation_make(s, slot + 1, &quota[1])) {
		for (int i = 0; i < 2; i++) {
			quota_give(s->quota, &quota[i]);
			relayed_give(s, slot + i, quota[i].user);
		}
		return TURN_REFUSED_INTERNAL;
	}
	refusal = method_allocate_on(r, slot, lifetime_s, &quota[0]);
	if (refusal != TURN_GRANTED)
		reservation_lapse(s, slot + 1);
	return refusal;
}

enum turn_refusal reserve_pair(struct turn_request *r, bool is_v4, uint32_t lifetime_s)
{
	struct turn_shard *s = r->s;
	struct relayed_want want = {
		.is_v4 = is_v4, .kind = RELAY_PORTS_PAIR, .per_user = r->policy->limits.per_user};
	struct quota_ref quota[2];
	uint32_t slot;
	enum turn_refusal refusal = count_two(r, quota);

	if (refusal != TURN_GRANTED)
		return refusal;
	want.user = quota[0].user;
	refusal = relayed_take(s, &want, &slot);
	if (refusal == TURN_GRANTED)
		return make_pair(r, slot, lifetime_s, quota);
	for (int i = 0; i < 2; i++)
		quota_give(s->quota, &quota[i]);
	return elsewhere_allocate(
		r, &(struct elsewhere_want){{!is_v4, is_v4}, .kind = RELAY_PORTS_PAIR}, refusal);
}

void reserve_made(const struct turn_request *r, uint32_t slot)
{
	cold_at(r->s, slot)->has_token = method_ports_kind(r) == RELAY_PORTS_PAIR;
}

void reserve_put(struct turn_request *r, uint32_t slot)
{
	uint8_t token[TURN_TOKEN_LEN];

	if (reservation_token(r->s, slot, cold_at(r->s, slot)->made, token))
		stun_put(&r->w, STUN_RESERVATION_TOKEN, token, TURN_TOKEN_LEN);
}
