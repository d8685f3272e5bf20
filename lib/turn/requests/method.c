// SPDX-License-Identifier: BSD-3-Clause
// What each method does once its request is authenticated (RFC 8656 sections 7.2, 8.2, 10.2, 12.2),
// with the checks in the order of the text. Each handler returns 0 or a STUN error code; after an
// error nothing is left behind.
#include <netinet/in.h>

#include "requests/method.h"
#include "relayed/relay_map.h"
#include "relayed/relayed.h"
#include "relayed/reservation.h"
#include "shard.h"

#define FAMILY_IPV4 1
#define FAMILY_IPV6 2
#define NAMED_MAX ((UINT16_MAX + 1) / 8)

unsigned int method_binding(struct turn_request *r)
{
	const struct endpoint client = {r->v->src, r->v->src_port};

	stun_put_xor_addr(&r->w, STUN_XOR_MAPPED_ADDRESS, &client);
	return 0;
}

// --- Allocate ------------------------------------------------------------------------------------

// Applies the LIFETIME rules of RFC 8656 7.2 and 8.2: the result is at most max and at least
// default. *zero: the request asks for 0. False when the attribute is malformed.
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
	return true;
}

// Appends the attributes of a success response, for a new allocation and for a retransmitted
// request alike.
static void put_allocation(struct turn_request *r, uint32_t slot)
{
	const struct turn_shard *s = r->s;
	const struct turn_cold *c = cold_at(s, slot);
	const struct endpoint client = {r->v->src, r->v->src_port};
	struct endpoint relay = alloc_relay(s, slot);
	uint8_t token[TURN_TOKEN_LEN];

	relay.addr = external_told(&s->policy->external, &relay.addr);
	stun_put_xor_addr(&r->w, STUN_XOR_RELAYED_ADDRESS, &relay);
	stun_put_u32(&r->w, STUN_LIFETIME, (alloc_left(s, slot) + 999) / 1000);
	stun_put_xor_addr(&r->w, STUN_XOR_MAPPED_ADDRESS, &client);
	if (c->has_token && reservation_token(s, slot, c->made, token))
		stun_put(&r->w, STUN_RESERVATION_TOKEN, token, TURN_TOKEN_LEN);
}

// The 5-tuple is in use. A retransmission gets the same answer again (RFC 8489 6.3.1), every other
// Allocate a 437.
static unsigned int allocate_again(struct turn_request *r)
{
	const struct turn_cold *c = cold_at(r->s, r->slot);

	if (c->tid != alloc_tid(r->s, stun_tid(&r->m)) || c->who != alloc_who(r->s, r->cred.ident))
		return 437;
	put_allocation(r, r->slot);
	return 0;
}

// What an Allocate asks for, checked.
struct wanted {
	uint32_t lifetime_s;
	bool is_v4;
	enum relay_ports_kind kind;
	const uint8_t *token; // RESERVATION-TOKEN, or NULL
};

static unsigned int family_wanted(const struct turn_request *r, struct wanted *w)
{
	const struct stun_msg *m = &r->m;
	const uint8_t *value = m->data + m->off[STUN_REQUESTED_ADDRESS_FAMILY];

	w->is_v4 = true;
	if (stun_has(m, STUN_REQUESTED_ADDRESS_FAMILY)) {
		if (m->alen[STUN_REQUESTED_ADDRESS_FAMILY] != 4)
			return 400;
		if (value[0] != FAMILY_IPV4 && value[0] != FAMILY_IPV6)
			return 440;
		w->is_v4 = value[0] == FAMILY_IPV4;
	}
	// A shard may own ports of one family only. It still knows whether the box has the other
	// family, because every family is dealt over all workers.
	return relayed_has_family(r->s, w->is_v4) ? 0 : 440;
}

// Checks 3 to 8 of RFC 8656 7.2.
static unsigned int allocate_wanted(const struct turn_request *r, struct wanted *w)
{
	const struct stun_msg *m = &r->m;
	bool zero;

	*w = (struct wanted){.kind = RELAY_PORTS_ANY};
	if (m->alen[STUN_REQUESTED_TRANSPORT] != 4)
		return 400;
	if (m->data[m->off[STUN_REQUESTED_TRANSPORT]] != IPPROTO_UDP)
		return 442;
	if (!lifetime_of(r, &w->lifetime_s, &zero))
		return 400;
	if (stun_has(m, STUN_RESERVATION_TOKEN)) {
		if (stun_has(m, STUN_EVEN_PORT) || stun_has(m, STUN_REQUESTED_ADDRESS_FAMILY) ||
			m->alen[STUN_RESERVATION_TOKEN] != TURN_TOKEN_LEN)
			return 400;
		w->token = m->data + m->off[STUN_RESERVATION_TOKEN];
		return 0;
	}
	if (stun_has(m, STUN_EVEN_PORT)) {
		if (m->alen[STUN_EVEN_PORT] != 1)
			return 400;
		w->kind = (m->data[m->off[STUN_EVEN_PORT]] & 0x80) != 0 ? RELAY_PORTS_PAIR
									: RELAY_PORTS_EVEN;
	}
	return family_wanted(r, w);
}

// Counts one allocation of the requester; false when a quota is reached.
static bool count_one(const struct turn_request *r, struct quota_ref *ref)
{
	const struct turn_shard *s = r->s;
	uint8_t ident[TURN_IDENT_LEN];

	return cred_quota_ident(s->policy, s->crypto, &r->m, &r->cred, ident) &&
		quota_take(s->quota, &s->policy->limits, ident, &r->v->src, ref);
}

// Whether ref is what one allocation of the requester would count as.
static bool is_counted(const struct turn_request *r, const struct quota_ref *ref)
{
	const struct turn_shard *s = r->s;
	uint8_t ident[TURN_IDENT_LEN];

	return cred_quota_ident(s->policy, s->crypto, &r->m, &r->cred, ident) &&
		quota_is(s->quota, ident, &r->v->src, ref);
}

// Makes the allocation on a slot that is taken and counted in the quota. If it fails, both are
// given back.
static unsigned int allocate_on(struct turn_request *r, uint32_t slot, const struct wanted *w,
	const struct quota_ref *quota, bool has_token)
{
	struct turn_shard *s = r->s;
	const struct alloc_new n = {.slot = slot,
		.lifetime_s = w->lifetime_s,
		.tid = stun_tid(&r->m),
		.cred = &r->cred,
		.quota = *quota,
		.has_token = has_token};

	if (!alloc_make(s, r->v, &n)) {
		quota_give(s->quota, quota);
		relayed_give(s, slot);
		return 508;
	}
	r->slot = slot;
	put_allocation(r, slot);
	return 0;
}

// Allocates a reserved port, or hands the request to the worker that the token's first byte names.
static unsigned int allocate_reserved(struct turn_request *r, const struct wanted *w)
{
	struct turn_shard *s = r->s;
	const uint8_t home = w->token[0];
	struct quota_ref quota;
	uint32_t slot;

	if (home != s->worker) {
		if (home >= s->workers || r->v->via != TURN_NO_WORKER ||
			!redirect_make(s, r->v, home))
			return 508;
		r->handover = true;
		r->worker = home;
		return 0;
	}
	slot = reservation_find(s, w->token);
	if (slot == TURN_NONE)
		return 508;
	// Whoever made the reservation has been counted for it. Anybody else may be at their limit;
	// a refusal then must leave the reservation as it is.
	if (is_counted(r, &cold_at(s, slot)->reserved.quota)) {
		quota = cold_at(s, slot)->reserved.quota;
		reservation_take(s, slot);
	} else if (count_one(r, &quota)) {
		reservation_end(s, slot);
	} else {
		return 486;
	}
	return allocate_on(r, slot, w, &quota, false);
}

// Allocates an even port and holds its odd neighbour back for a later Allocate. Both count in the
// quota.
static unsigned int allocate_pair(struct turn_request *r, uint32_t slot, const struct wanted *w,
	const struct quota_ref quota[2])
{
	struct turn_shard *s = r->s;
	unsigned int code;

	if (!reservation_make(s, slot + 1, &quota[1])) {
		for (int i = 0; i < 2; i++) {
			quota_give(s->quota, &quota[i]);
			relay_ports_give(s->ports, slot + i, s->now_ms);
		}
		return 508;
	}
	code = allocate_on(r, slot, w, &quota[0], true);
	if (code != 0)
		reservation_lapse(s, slot + 1);
	return code;
}

// RFC 8656 7.2 (8): who may have one more and asks for a pair gets 508, at which a client may ask
// for one at once. 486 would have it wait for a minute (7.4).
//
// Takes the quota before the port. A port that is taken and given back has to rest anew, so a
// client at its limit could otherwise send all ports to rest in no time.
static unsigned int allocate_fresh(struct turn_request *r, const struct wanted *w)
{
	struct turn_shard *s = r->s;
	const unsigned int nb = w->kind == RELAY_PORTS_PAIR ? 2 : 1;
	struct quota_ref quota[2];
	unsigned int counted = 0, code = 508;
	uint32_t slot;

	while (counted < nb && count_one(r, &quota[counted]))
		counted++;
	if (counted == 0)
		code = 486;
	else if (counted == nb && relayed_take(s, w->is_v4, w->kind, &slot))
		return nb == 2 ? allocate_pair(r, slot, w, quota)
			       : allocate_on(r, slot, w, &quota[0], false);
	while (counted > 0)
		quota_give(s->quota, &quota[--counted]);
	return code;
}

unsigned int method_allocate(struct turn_request *r)
{
	struct wanted w;
	unsigned int code;

	if (r->slot != TURN_NONE)
		return allocate_again(r);
	code = allocate_wanted(r, &w);
	if (code != 0)
		return code;
	// nobody can have a shared port for themselves, still less its neighbour
	if (r->s->shared.nb > 0 && (w.token != NULL || w.kind != RELAY_PORTS_ANY))
		return 508;
	return w.token != NULL ? allocate_reserved(r, &w) : allocate_fresh(r, &w);
}

// --- Refresh -------------------------------------------------------------------------------------

unsigned int method_refresh(struct turn_request *r)
{
	const struct stun_msg *m = &r->m;
	uint32_t lifetime_s;
	bool zero;

	if (!lifetime_of(r, &lifetime_s, &zero))
		return 400;
	if (stun_has(m, STUN_REQUESTED_ADDRESS_FAMILY)) {
		const uint8_t family = alloc_is_v4(r->s, r->slot) ? FAMILY_IPV4 : FAMILY_IPV6;

		if (m->alen[STUN_REQUESTED_ADDRESS_FAMILY] != 4)
			return 400;
		if (m->data[m->off[STUN_REQUESTED_ADDRESS_FAMILY]] != family)
			return 443;
	}
	if (zero) {
		alloc_end(r->s, r->slot);
		lifetime_s = 0;
	} else {
		alloc_refresh(r->s, r->slot, lifetime_s);
	}
	stun_put_u32(&r->w, STUN_LIFETIME, lifetime_s);
	return 0;
}

// --- CreatePermission and ChannelBind ------------------------------------------------------------

// Decodes a peer in the form in which the client names it.
static unsigned int peer_named(const struct turn_shard *s, uint32_t slot, const struct stun_msg *m,
	uint16_t off, struct endpoint *peer)
{
	const uint16_t alen = load_be16(m->data + off - 2);
	int family;

	if (!stun_decode_xor_addr(m, off, alen, peer, &family))
		return 400;
	if ((family == 4) != alloc_is_v4(s, slot))
		return 443;
	peer->addr = addr_canonical(peer->addr);
	return 0;
}

unsigned int method_peer_decode(const struct turn_shard *s, uint32_t slot, const struct stun_msg *m,
	uint16_t off, struct endpoint *peer)
{
	const unsigned int code = peer_named(s, slot, m, off, peer);

	if (code == 0)
		peer->addr = external_meant(&s->policy->external, &peer->addr);
	return code;
}

// Judges a decoded peer: 0, 403, or 443 when its canonical form is of the other family. (An IPv6
// address that carries an IPv4 address is judged as that IPv4 address first.)
static unsigned int peer_admit(struct turn_request *r, const struct endpoint *peer, uint16_t port)
{
	const bool is_v4 = alloc_is_v4(r->s, r->slot);

	switch (turn_policy_peer(r->s->policy, &peer->addr, port)) {
	case TURN_PEER_NEVER:
	case TURN_PEER_DENY:
		return 403;
	case TURN_PEER_OWN:
		return addr_is_v4(&peer->addr) == is_v4 ? 0 : 443;
	case TURN_PEER_ALLOW:
		break;
	}
	if (addr_is_v4(&peer->addr) != is_v4)
		return 443;
	if (policy_reaches(r->s->policy, alloc_relay_index(r->s, r->slot), &peer->addr))
		return 0;
	r->s->stats.unreachable++;
	r->reason = "No Route To Peer";
	return 403;
}

// Decodes and judges all peers of a CreatePermission. 0 or an error code.
static unsigned int peers_wanted(struct turn_request *r)
{
	uint16_t pos = 0, off, alen;
	struct endpoint peer;
	bool any = false;

	while (stun_next(&r->m, STUN_XOR_PEER_ADDRESS, &pos, &off, &alen)) {
		unsigned int code = method_peer_decode(r->s, r->slot, &r->m, off, &peer);

		// RFC 8656 10.2 ignores the port, so the policy is asked about any port that is not
		// 0.
		if (code == 0)
			code = peer_admit(r, &peer, 1);
		if (code != 0)
			return code;
		any = true;
	}
	return any ? 0 : 400;
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
	struct endpoint other;

	for (;; i++) {
		uint16_t *entry = &n->off[i & n->mask];

		if (*entry == 0) {
			*entry = off;
			return true;
		}
		method_peer_decode(r->s, r->slot, &r->m, *entry, &other);
		if (addr_eq(&other.addr, a))
			return false;
	}
}

// How many addresses a request names that have no permission, each counted once. peers_wanted has
// found nothing wrong with them.
static uint32_t peers_new(const struct turn_request *r)
{
	uint16_t pos = 0, off, alen;
	struct endpoint peer;
	struct named n;
	uint32_t nb = 0;

	named_begin(&n, r);
	while (stun_next(&r->m, STUN_XOR_PEER_ADDRESS, &pos, &off, &alen)) {
		method_peer_decode(r->s, r->slot, &r->m, off, &peer);
		if (peers_permission_find(r->s, r->slot, &peer.addr) == TURN_NONE)
			nb += named_add(&n, off, &peer.addr);
	}
	return nb;
}

unsigned int method_create_permission(struct turn_request *r)
{
	struct turn_shard *s = r->s;
	uint16_t pos = 0, off, alen;
	struct endpoint peer;
	const unsigned int code = peers_wanted(r);

	if (code != 0)
		return code;
	peers_settle(s, r->slot);
	if (!peers_permissions_fit(s, r->slot, peers_new(r)))
		return 508;
	while (stun_next(&r->m, STUN_XOR_PEER_ADDRESS, &pos, &off, &alen)) {
		method_peer_decode(s, r->slot, &r->m, off, &peer);
		if (peers_permission_set(s, r->slot, &peer.addr) == TURN_NONE)
			return 508;
	}
	line_copy_channel(s, r->slot);
	return 0;
}

// RFC 8656 12.2: a number is bound to one peer, and a peer to one number; else 400, at which a
// client starts afresh with a new allocation (12.3). A client that has named the peer in another
// form before cannot know that it has a channel to it. It has asked for nothing wrong, and can do
// without.
static unsigned int binding_clash(
	struct turn_request *r, uint16_t number, const struct endpoint *peer, uint8_t form)
{
	const struct turn_shard *s = r->s;
	const uint32_t by_number = peers_channel_by_number(s, r->slot, number);
	const uint32_t by_peer = peers_channel_by_peer(s, r->slot, peer);

	if (by_number == by_peer)
		return 0;
	if (by_number != TURN_NONE || s->channel_form == NULL || s->channel_form[by_peer] == form)
		return 400;
	r->reason = "Peer Has A Channel By Another Of Its Addresses";
	return 508;
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
static unsigned int bind_channel(
	struct turn_request *r, uint16_t number, const struct endpoint *peer)
{
	struct turn_shard *s = r->s;
	uint32_t endpoint;
	unsigned int code;

	if (s->shared.nb == 0)
		return peers_channel_set(s, r->slot, number, peer);
	switch (shared_ask(s, r->slot, peer)) {
	case SHARED_OURS:
		return peers_channel_set(s, r->slot, number, peer);
	case SHARED_COLLISION:
		// not 400, at which a client would give up all its other peers (RFC 8656 12.3)
		r->reason = "Peer In Use On This Shared Relay Address";
		return 508;
	case SHARED_SHARE:
		r->reason = "Peer In Use By Other Allocations Of This User";
		return 508;
	case SHARED_FULL:
		return 508;
	case SHARED_FREE:
		break;
	}
	endpoint = shared_register(s, r->slot, peer);
	if (endpoint == TURN_NONE)
		return 508;
	code = peers_channel_set(s, r->slot, number, peer);
	if (code == 0)
		shared_keep(s, endpoint);
	else
		shared_withdraw(s, endpoint);
	return code;
}

unsigned int method_channel_bind(struct turn_request *r)
{
	const struct stun_msg *m = &r->m;
	struct endpoint peer;
	uint32_t value;
	uint16_t number;
	uint8_t form;
	unsigned int code;

	if (!stun_get_u32(m, STUN_CHANNEL_NUMBER, &value) || !stun_has(m, STUN_XOR_PEER_ADDRESS))
		return 400;
	number = (uint16_t)(value >> 16);
	if (!number_valid(r, number))
		return 400;
	code = peer_named(r->s, r->slot, m, m->off[STUN_XOR_PEER_ADDRESS], &peer);
	if (code != 0)
		return code;
	form = external_form(&r->s->policy->external, &peer.addr);
	peer.addr = external_meant(&r->s->policy->external, &peer.addr);
	code = peer_admit(r, &peer, peer.port);
	if (code != 0)
		return code;
	peers_settle(r->s, r->slot);
	code = binding_clash(r, number, &peer, form);
	if (code == 0)
		code = bind_channel(r, number, &peer);
	if (code == 0 && r->s->channel_form != NULL)
		r->s->channel_form[peers_channel_by_number(r->s, r->slot, number)] = form;
	return code;
}
