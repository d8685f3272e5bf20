// SPDX-License-Identifier: BSD-3-Clause
// What each method does once its request is authenticated (RFC 8656 sections 7.2, 8.2, 10.2, 12.2),
// with the checks in the order of the text. A handler that refuses leaves nothing behind.
#include <netinet/in.h>

#include "events/tell.h"
#include "mobile/mobile.h"
#include "mobile/move.h"
#include "requests/alternates.h"
#include "requests/dual.h"
#include "requests/elsewhere.h"
#include "requests/method.h"
#include "requests/tcp.h"
#include "relayed/relay_map.h"
#include "relayed/relayed.h"
#include "relayed/reservation.h"
#include "shard.h"

#define NAMED_MAX ((UINT16_MAX + 1) / 8)

enum turn_refusal method_binding(struct turn_request *r)
{
	const struct endpoint client = {r->v->src, r->v->src_port};

	if (stun_is_rfc3489(&r->m))
		stun_put_addr(&r->w, STUN_MAPPED_ADDRESS, &client);
	else
		stun_put_xor_addr(&r->w, STUN_XOR_MAPPED_ADDRESS, &client);
	discovery_put(r);
	return TURN_GRANTED;
}

// --- Allocate ------------------------------------------------------------------------------------

// A lifetime that ends with the time of the credentials, which has not passed.
static uint32_t bounded_lifetime(const struct turn_request *r, uint32_t lifetime_s)
{
	const uint64_t left_s = r->cred.expiry_s - r->s->wall_s;

	if (left_s >= lifetime_s)
		return lifetime_s;
	return left_s > 0 ? (uint32_t)left_s : 1;
}

// Applies the LIFETIME rules of RFC 8656 7.2 and 8.2: the result is at most max and at least
// default, unless the user's own time ends before. *zero: the request asks for 0. False when the
// attribute is malformed.
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
	const struct turn_cold *c = cold_at(s, slot);
	const struct endpoint client = {r->v->src, r->v->src_port};
	uint8_t token[TURN_TOKEN_LEN];

	dual_put_relayed(r, slot);
	stun_put_u32(&r->w, STUN_LIFETIME, (dual_left(s, slot) + 999) / 1000);
	stun_put_xor_addr(&r->w, STUN_XOR_MAPPED_ADDRESS, &client);
	move_put_ticket(r, slot);
	if (c->has_token && reservation_token(s, slot, c->made, token))
		stun_put(&r->w, STUN_RESERVATION_TOKEN, token, TURN_TOKEN_LEN);
}

// The 5-tuple is in use. A retransmission gets the same answer again (RFC 8489 6.3.1).
static bool is_sent_again(const struct turn_request *r)
{
	const struct turn_cold *c = cold_at(r->s, r->slot);
	const uint32_t tid = c->is_dual ? cold_at(r->s, c->sibling)->who : c->tid;

	return tid == alloc_tid(r->s, stun_tid(&r->m)) && c->who == alloc_who(r->s, r->cred.ident);
}

// What an Allocate asks for, checked.
struct wanted {
	uint32_t lifetime_s;
	bool is_v4, is_dual; // is_dual: both families
	bool is_tcp;
	enum relay_ports_kind kind;
	const uint8_t *token; // RESERVATION-TOKEN, or NULL
};

// The family for an Allocate that names none. A client that comes by a family of which the box has
// no relay address gets the other one, where that is what is configured.
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

// Checks 3 to 8 of RFC 8656 7.2.
static enum turn_refusal allocate_wanted(const struct turn_request *r, struct wanted *w)
{
	const struct stun_msg *m = &r->m;
	bool zero;

	const enum turn_refusal why = move_wanted(r);

	*w = (struct wanted){.kind = RELAY_PORTS_ANY};
	if (m->alen[STUN_REQUESTED_TRANSPORT] != 4)
		return TURN_REFUSED_MALFORMED;
	w->is_tcp = r->s->tcp.on && m->data[m->off[STUN_REQUESTED_TRANSPORT]] == IPPROTO_TCP;
	if (m->data[m->off[STUN_REQUESTED_TRANSPORT]] != IPPROTO_UDP && !w->is_tcp)
		return TURN_REFUSED_TRANSPORT;
	if (why != TURN_GRANTED)
		return why;
	if (!lifetime_of(r, &w->lifetime_s, &zero))
		return TURN_REFUSED_MALFORMED;
	if (w->is_tcp && !tcp_is_client(r))
		return TURN_REFUSED_TCP_CLIENT;
	if (w->is_tcp && !tcp_may_ask(r))
		return TURN_REFUSED_MALFORMED;
	if (stun_has(m, STUN_RESERVATION_TOKEN)) {
		if (stun_has(m, STUN_EVEN_PORT) || stun_has(m, STUN_REQUESTED_ADDRESS_FAMILY) ||
			stun_has(m, STUN_ADDITIONAL_ADDRESS_FAMILY) ||
			m->alen[STUN_RESERVATION_TOKEN] != TURN_TOKEN_LEN)
			return TURN_REFUSED_MALFORMED;
		w->token = m->data + m->off[STUN_RESERVATION_TOKEN];
		return TURN_GRANTED;
	}
	if (stun_has(m, STUN_EVEN_PORT)) {
		if (m->alen[STUN_EVEN_PORT] != 1)
			return TURN_REFUSED_MALFORMED;
		w->kind = (m->data[m->off[STUN_EVEN_PORT]] & 0x80) != 0 ? RELAY_PORTS_PAIR
									: RELAY_PORTS_EVEN;
	}
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

// Whether ref is what one allocation of the requester would count as.
static bool is_counted(const struct turn_request *r, const struct quota_ref *ref)
{
	const struct turn_shard *s = r->s;
	uint8_t ident[TURN_IDENT_LEN];

	return cred_quota_ident(r->policy, s->crypto, &r->m, &r->cred, ident) &&
		quota_is(s->quota, ident, &r->v->src, ref);
}

enum turn_refusal method_allocate_on(struct turn_request *r, uint32_t slot, uint32_t lifetime_s,
	const struct quota_ref *quota, bool has_token)
{
	struct turn_shard *s = r->s;
	const struct alloc_new n = {.slot = slot,
		.lifetime_ms = lifetime_s * 1000,
		.tid = stun_tid(&r->m),
		.cred = &r->cred,
		.quota = *quota,
		.has_token = has_token,
		.may_move = stun_has(&r->m, STUN_MOBILITY_TICKET)};

	if (!alloc_make(s, r->v, &n)) {
		quota_give(s->quota, quota);
		relayed_give(s, slot, quota->user);
		return TURN_REFUSED_NO_MEMORY;
	}
	r->slot = slot;
	method_put_allocation(r, slot);
	tell_made(r);
	return TURN_GRANTED;
}

// Allocates a reserved port, or hands the request to the worker that the token's first byte names.
static enum turn_refusal allocate_reserved(struct turn_request *r, const struct wanted *w)
{
	struct turn_shard *s = r->s;
	const uint8_t home = w->token[0];
	enum turn_refusal why;
	struct quota_ref quota;
	uint32_t slot;

	if (home != s->worker) {
		if (home >= s->workers || r->v->via != TURN_NO_WORKER)
			return TURN_REFUSED_TOKEN;
		return elsewhere_lead(r, home);
	}
	slot = reservation_find(s, w->token);
	if (slot == TURN_NONE)
		return TURN_REFUSED_TOKEN;
	// Whoever made the reservation has been counted for it. Anybody else may be at their limit;
	// a refusal then must leave the reservation as it is.
	if (is_counted(r, &cold_at(s, slot)->reserved.quota)) {
		quota = cold_at(s, slot)->reserved.quota;
		reservation_take(s, slot);
	} else {
		why = method_count_one(r, &quota);
		if (why != TURN_GRANTED)
			return why;
		relayed_pass(s, slot, cold_at(s, slot)->reserved.quota.user, quota.user);
		reservation_end(s, slot);
	}
	return method_allocate_on(r, slot, w->lifetime_s, &quota, false);
}

// Allocates an even port and holds its odd neighbour back for a later Allocate. Both count in the
// quota.
static enum turn_refusal allocate_pair(struct turn_request *r, uint32_t slot,
	const struct wanted *w, const struct quota_ref quota[2])
{
	struct turn_shard *s = r->s;
	enum turn_refusal why;

	if (!reservation_make(s, slot + 1, &quota[1])) {
		for (int i = 0; i < 2; i++) {
			quota_give(s->quota, &quota[i]);
			relayed_give(s, slot + i, quota[i].user);
		}
		return TURN_REFUSED_INTERNAL;
	}
	why = method_allocate_on(r, slot, w->lifetime_s, &quota[0], true);
	if (why != TURN_GRANTED)
		reservation_lapse(s, slot + 1);
	return why;
}

// RFC 8656 7.2 (8): who may have one more and asks for a pair gets 508, at which a client may ask
// for one at once. 486 would have it wait for a minute (7.4).
//
// Takes the quota before the port. A port that is taken and given back has to rest anew, so a
// client at its limit could otherwise send all ports to rest in no time.
static enum turn_refusal allocate_fresh(struct turn_request *r, const struct wanted *w)
{
	struct turn_shard *s = r->s;
	const unsigned int nb = w->kind == RELAY_PORTS_PAIR ? 2 : 1;
	struct quota_ref quota[2];
	enum turn_refusal why = TURN_GRANTED;
	unsigned int counted = 0;
	uint32_t slot = TURN_NONE;

	while (counted < nb && (why = method_count_one(r, &quota[counted])) == TURN_GRANTED)
		counted++;
	if (counted == 1 && why != TURN_GRANTED)
		why = TURN_REFUSED_QUOTA_PAIR;
	if (why == TURN_GRANTED)
		why = relayed_take(s,
			&(struct relayed_want){
				w->is_v4, w->kind, quota[0].user, r->policy->limits.per_user},
			&slot);
	if (why == TURN_GRANTED)
		return nb == 2 ? allocate_pair(r, slot, w, quota)
			       : method_allocate_on(r, slot, w->lifetime_s, &quota[0], false);
	while (counted > 0)
		quota_give(s->quota, &quota[--counted]);
	return elsewhere_allocate(
		r, &(struct elsewhere_want){{!w->is_v4, w->is_v4}, .kind = (uint8_t)w->kind}, why);
}

enum turn_refusal method_allocate(struct turn_request *r)
{
	enum turn_refusal why;
	struct wanted w;

	if (r->slot != TURN_NONE && is_sent_again(r)) {
		method_put_allocation(r, r->slot);
		return TURN_GRANTED;
	}
	if (r->slot != TURN_NONE && !mobile_leave(r->s, r->slot, r->v))
		return TURN_REFUSED_ALLOCATED;
	r->slot = TURN_NONE;
	why = allocate_wanted(r, &w);
	if (why == TURN_GRANTED)
		why = alternates_refusal(r, w.token != NULL);
	if (why != TURN_GRANTED)
		return why;
	if (w.is_tcp)
		return tcp_allocate(r, w.is_v4, w.lifetime_s);
	// nobody can have a shared port for themselves, still less its neighbour
	if (r->s->shared.nb > 0 && (w.token != NULL || w.kind != RELAY_PORTS_ANY))
		return TURN_REFUSED_SHARED_PORT;
	if (w.is_dual)
		return dual_allocate(r, w.kind, w.lifetime_s);
	return w.token != NULL ? allocate_reserved(r, &w) : allocate_fresh(r, &w);
}

// --- Refresh -------------------------------------------------------------------------------------

// Whether a Refresh of a family, 0 being both, is about all that the client has.
static bool ends_all(const struct turn_request *r, uint8_t family)
{
	return family == 0 || alloc_sibling(r->s, r->slot) == TURN_NONE;
}

enum turn_refusal method_refresh(struct turn_request *r)
{
	const struct stun_msg *m = &r->m;
	enum turn_refusal why;
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
	why = r->ticket != 0 ? move_begin(r, lifetime_s == 0 && ends_all(r, family)) : TURN_GRANTED;
	if (why == TURN_GRANTED)
		why = dual_refresh(r, family, lifetime_s);
	if (why != TURN_GRANTED)
		return why;
	if (!zero && cred_is_token(&r->cred)) {
		if (alloc_is_tcp(r->s, r->slot))
			tcp_rekey(r);
		alloc_rekey(r->s, r->slot, &r->cred);
	}
	stun_put_u32(&r->w, STUN_LIFETIME, lifetime_s);
	return TURN_GRANTED;
}

// --- CreatePermission and ChannelBind ------------------------------------------------------------

// Decodes a peer in the form in which the client names it; *slot as in method_peer_decode.
static enum turn_refusal peer_named(const struct turn_shard *s, uint32_t *slot,
	const struct stun_msg *m, uint16_t off, struct endpoint *peer)
{
	const uint16_t alen = load_be16(m->data + off - 2);
	uint32_t of_family;
	int family;

	if (!stun_decode_xor_addr(m, off, alen, peer, &family))
		return TURN_REFUSED_MALFORMED;
	of_family = alloc_of_family(s, *slot, family == 4);
	if (of_family == TURN_NONE)
		return TURN_REFUSED_PEER_FAMILY;
	*slot = of_family;
	peer->addr = addr_canonical(peer->addr);
	return TURN_GRANTED;
}

enum turn_refusal method_peer_decode(const struct turn_shard *s, uint32_t *slot,
	const struct stun_msg *m, uint16_t off, struct endpoint *peer)
{
	const enum turn_refusal why = peer_named(s, slot, m, off, peer);

	if (why == TURN_GRANTED)
		peer->addr = external_meant(&s->policy->external, &peer->addr);
	return why;
}

// Decodes a peer that a request asks for, in the form in which the client names it. r->slot becomes
// the client's allocation of its family. If the request is refused, the event will have both.
static enum turn_refusal peer_asked(struct turn_request *r, uint16_t off, struct endpoint *peer)
{
	const enum turn_refusal why = peer_named(r->s, &r->slot, &r->m, off, peer);

	r->peer = why != TURN_REFUSED_MALFORMED ? *peer : (struct endpoint){0};
	return why;
}

// Also when its canonical form is of the other family, it is of the wrong one. (An IPv6 address
// that carries an IPv4 address is judged as that IPv4 address first.)
enum turn_refusal method_peer_admit(
	const struct turn_shard *s, uint32_t slot, const struct endpoint *peer, uint16_t port)
{
	const bool is_same = addr_is_v4(&peer->addr) == alloc_is_v4(s, slot);
	const struct turn_policy *p = alloc_policy(s, slot);

	switch (turn_policy_peer(p, &peer->addr, port)) {
	case TURN_PEER_NEVER:
		return policy_is_own(p, &peer->addr) && port != 0 ? TURN_REFUSED_PEER_OWN
								  : TURN_REFUSED_PEER_NEVER;
	case TURN_PEER_DENY:
		return policy_is_own(p, &peer->addr) ? TURN_REFUSED_PEER_OWN
						     : TURN_REFUSED_PEER_DENIED;
	case TURN_PEER_OWN:
		return is_same ? TURN_GRANTED : TURN_REFUSED_PEER_FAMILY;
	case TURN_PEER_ALLOW:
		break;
	}
	if (!is_same)
		return TURN_REFUSED_PEER_FAMILY;
	if (policy_reaches(p, alloc_relay_index(s, slot), &peer->addr))
		return TURN_GRANTED;
	return TURN_REFUSED_PEER_UNREACHABLE;
}

// Forgets what has expired of all allocations of a client.
static void settle(struct turn_shard *s, uint32_t slot)
{
	const uint32_t other = alloc_sibling(s, slot);

	peers_settle(s, slot);
	if (other != TURN_NONE)
		peers_settle(s, other);
}

// Decodes and judges all peers of a CreatePermission.
static enum turn_refusal peers_wanted(struct turn_request *r)
{
	uint16_t pos = 0, off, alen;
	struct endpoint peer;
	bool any = false;

	while (stun_next(&r->m, STUN_XOR_PEER_ADDRESS, &pos, &off, &alen)) {
		enum turn_refusal why = peer_asked(r, off, &peer);

		// RFC 8656 10.2 ignores the port, so the policy is asked about any port that is not
		// 0.
		if (why == TURN_GRANTED) {
			peer.addr = external_meant(&r->s->policy->external, &peer.addr);
			why = method_peer_admit(r->s, r->slot, &peer, TURN_PORT_ANY);
		}
		if (why != TURN_GRANTED)
			return why;
		any = true;
	}
	return any ? TURN_GRANTED : TURN_REFUSED_MALFORMED;
}

// Addresses that a request has named, each once: a table of where they stand in it, 0 = free. It
// has an entry for every 8 bytes of the message. An address takes 12, so that a third is always
// free. Nobody without the key of the hash can make the look-up long.
struct named {
	const struct turn_request *r;
	uint32_t mask;
	uint16_t off[NAMED_MAX];
};

static void named_begin(struct named *n, const struct turn_request *r)
{
	n->r = r;
	n->mask = 7;
	while (n->mask < r->m.len / 8u)
		n->mask = 2 * n->mask + 1;
	memset(n->off, 0, (n->mask + 1) * sizeof(n->off[0]));
}

// Adds the address that stands at off. False when it is there already.
static bool named_add(struct named *n, uint16_t off, const struct addr *a)
{
	const struct turn_request *r = n->r;
	uint64_t i = hash_addr(&r->s->key, a, r->slot);
	uint32_t slot = r->slot;
	struct endpoint other;

	for (;; i++) {
		uint16_t *entry = &n->off[i & n->mask];

		if (*entry == 0) {
			*entry = off;
			return true;
		}
		method_peer_decode(r->s, &slot, &r->m, *entry, &other);
		if (addr_eq(&other.addr, a))
			return false;
	}
}

// How many addresses a request names that have no permission, each counted once: nb[0] for the
// allocation of r->slot, nb[1] for its sibling. peers_wanted has found nothing wrong with them.
static void peers_new(const struct turn_request *r, uint32_t nb[2])
{
	uint16_t pos = 0, off, alen;
	struct endpoint peer;
	struct named n;

	named_begin(&n, r);
	while (stun_next(&r->m, STUN_XOR_PEER_ADDRESS, &pos, &off, &alen)) {
		uint32_t slot = r->slot;

		method_peer_decode(r->s, &slot, &r->m, off, &peer);
		if (peers_permission_find(r->s, slot, &peer.addr) == TURN_NONE)
			nb[slot != r->slot] += named_add(&n, off, &peer.addr);
	}
}

enum turn_refusal method_create_permission(struct turn_request *r)
{
	struct turn_shard *s = r->s;
	uint16_t pos = 0, off, alen;
	struct endpoint peer;
	uint32_t nb[2] = {0}, slot;
	const enum turn_refusal why = peers_wanted(r);

	if (why != TURN_GRANTED)
		return why;
	settle(s, r->slot);
	peers_new(r, nb);
	if (!peers_permissions_fit_both(s, r->slot, nb))
		return TURN_REFUSED_PERMISSIONS;
	while (stun_next(&r->m, STUN_XOR_PEER_ADDRESS, &pos, &off, &alen)) {
		slot = r->slot;
		method_peer_decode(s, &slot, &r->m, off, &peer);
		if (peers_permission_set(s, slot, &peer.addr) == TURN_NONE)
			return TURN_REFUSED_PERMISSIONS;
	}
	line_copy_channel(s, r->slot);
	slot = alloc_sibling(s, r->slot);
	if (slot != TURN_NONE)
		line_copy_channel(s, slot);
	return TURN_GRANTED;
}

// RFC 8656 12.2: a number is bound to one peer, and a peer to one number; else 400, at which a
// client starts afresh with a new allocation (12.3). A client that has named the peer in another
// form before cannot know that it has a channel to it. It has asked for nothing wrong, and can do
// without.
static enum turn_refusal binding_clash(
	const struct turn_request *r, const struct peers_channel *want)
{
	const struct turn_shard *s = r->s;
	const uint32_t by_number = peers_channel_by_number(s, r->slot, want->number);
	const uint32_t by_peer = peers_channel_by_peer(s, r->slot, &want->peer);
	const uint32_t other = alloc_sibling(s, r->slot);

	// numbers are the client's, whichever allocation the peer is of
	if (other != TURN_NONE && peers_channel_by_number(s, other, want->number) != TURN_NONE)
		return TURN_REFUSED_CHANNEL_CLASH;
	if (by_number == by_peer)
		return TURN_GRANTED;
	if (by_number != TURN_NONE || s->channel_form[by_peer] == want->form)
		return TURN_REFUSED_CHANNEL_CLASH;
	return TURN_REFUSED_CHANNEL_FORM;
}

// RFC 8656 12 ends the channel numbers at 0x4FFF. RFC 5766 11 ended them at 0x7FFF, and its clients
// draw from all of them. A client that has got our PASSWORD-ALGORITHMS and does not send it back is
// such a client, because RFC 8489 9.2.5 makes newer clients send it (doc/decisions/0004).
static bool number_valid(const struct turn_request *r, uint16_t number)
{
	const bool old = !r->cred.rfc8489;
	const uint16_t max =
		old && r->s->policy->rfc5766_channels ? CHANNEL_MAX_RFC5766 : CHANNEL_MAX;

	return number >= CHANNEL_MIN && number <= max;
}

// Binds the channel and, on a shared address, registers its peer: it does both or neither.
static enum turn_refusal bind_channel(struct turn_request *r, const struct peers_channel *want)
{
	struct turn_shard *s = r->s;
	uint32_t endpoint;
	enum turn_refusal why;

	if (s->shared.nb == 0)
		return peers_channel_set(s, r->slot, want);
	switch (shared_ask(s, r->slot, &want->peer)) {
	case SHARED_OURS:
		return peers_channel_set(s, r->slot, want);
	case SHARED_COLLISION:
		// not 400, at which a client would give up all its other peers (RFC 8656 12.3)
		return TURN_REFUSED_SHARED_PEER;
	case SHARED_SHARE:
		return TURN_REFUSED_SHARED_SHARE;
	case SHARED_FULL:
		return TURN_REFUSED_SHARED_FULL;
	case SHARED_FREE:
		break;
	}
	endpoint = shared_register(s, r->slot, &want->peer);
	if (endpoint == TURN_NONE)
		return TURN_REFUSED_SHARED_FULL;
	why = peers_channel_set(s, r->slot, want);
	if (why == TURN_GRANTED)
		shared_keep(s, endpoint);
	else
		shared_withdraw(s, endpoint);
	return why;
}

enum turn_refusal method_channel_bind(struct turn_request *r)
{
	const struct stun_msg *m = &r->m;
	struct peers_channel want;
	uint32_t value;
	enum turn_refusal why;

	if (!stun_get_u32(m, STUN_CHANNEL_NUMBER, &value) || !stun_has(m, STUN_XOR_PEER_ADDRESS))
		return TURN_REFUSED_MALFORMED;
	if (alloc_is_tcp(r->s, r->slot))
		return TURN_REFUSED_TCP_METHOD;
	want.number = (uint16_t)(value >> 16);
	if (!number_valid(r, want.number))
		return TURN_REFUSED_CHANNEL_NUMBER;
	why = peer_asked(r, m->off[STUN_XOR_PEER_ADDRESS], &want.peer);
	if (why != TURN_GRANTED)
		return why;
	want.form = external_form(&r->s->policy->external, &want.peer.addr);
	want.peer.addr = external_meant(&r->s->policy->external, &want.peer.addr);
	why = method_peer_admit(r->s, r->slot, &want.peer, want.peer.port);
	if (why != TURN_GRANTED)
		return why;
	settle(r->s, r->slot);
	why = binding_clash(r, &want);
	return why == TURN_GRANTED ? bind_channel(r, &want) : why;
}
