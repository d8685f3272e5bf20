// SPDX-License-Identifier: BSD-3-Clause
// CreatePermission and ChannelBind (RFC 8656 sections 10.2 and 12.2): decode the requested peers,
// judge them, and make room for them.
#include "requests/permit.h"
#include "peers.h"
#include "relayed/external.h"
#include "requests/method.h"
#include "shard.h"

#define NAMED_MAX ((UINT16_MAX + 1) / 8)

// Decodes a peer in the form that the client uses; *slot as in permit_decode.
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

enum turn_refusal permit_decode(const struct turn_shard *s, uint32_t *slot,
	const struct stun_msg *m, uint16_t off, struct endpoint *peer)
{
	const enum turn_refusal refusal = peer_named(s, slot, m, off, peer);

	if (refusal == TURN_GRANTED && s->policy->external.nb_public > 0)
		*peer = policy_meant(alloc_policy(s, *slot), peer, alloc_is_tcp(s, *slot));
	return refusal;
}

// Decodes a requested peer in the form that the client uses. r->slot becomes the client's
// allocation of its family. If the request is refused, the event has both.
static enum turn_refusal peer_asked(struct turn_request *r, uint16_t off, struct endpoint *peer)
{
	const enum turn_refusal refusal = peer_named(r->s, &r->slot, &r->m, off, peer);

	r->peer = refusal != TURN_REFUSED_MALFORMED ? *peer : (struct endpoint){0};
	return refusal;
}

// The family is checked after the policy: a peer whose canonical form has the other family is
// refused as such. (An IPv6 address that contains an IPv4 address is judged as that IPv4 address
// first.)
enum turn_refusal permit_admit(
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

// Frees expired permissions and channels of all allocations of a client.
static void settle_client(struct turn_shard *s, uint32_t slot)
{
	const uint32_t sibling = alloc_sibling(s, slot);

	peers_settle(s, slot);
	if (sibling != TURN_NONE)
		peers_settle(s, sibling);
}

// RFC 8656 9: a permission is for an address with any port. For a common address there are two
// permissions: one for the address that it is translated to, one for itself. Returns the address of
// the nth permission; false if there is no such permission.
#define PERMISSIONS 2
static bool permission_nth(const struct turn_shard *s, uint32_t slot, const struct addr *named,
	unsigned int nth, struct addr *out)
{
	const bool common = policy_is_common(alloc_policy(s, slot), named);
	struct endpoint peer = {*named, TURN_PORT_ANY};

	if (nth == 0)
		peer.addr = external_meant(&s->policy->external, named);
	*out = peer.addr;
	return common ? permit_admit(s, slot, &peer, TURN_PORT_ANY) == TURN_GRANTED : nth == 0;
}

// Maximum number of permissions for the address of a peer.
static unsigned int permissions_most(const struct turn_shard *s)
{
	return s->policy->external.nb_public > 0 ? PERMISSIONS : 1;
}

// Judges the address of a peer in the form that the client uses. RFC 8656 10.2 ignores the port, so
// the policy is asked for any port except 0.
static enum turn_refusal address_admit(
	const struct turn_shard *s, uint32_t slot, const struct endpoint *named)
{
	const struct endpoint meant = {external_meant(&s->policy->external, &named->addr), 0};
	const enum turn_refusal refusal = permit_admit(s, slot, &meant, TURN_PORT_ANY);

	return refusal != TURN_GRANTED && policy_is_common(alloc_policy(s, slot), &named->addr)
		? permit_admit(s, slot, named, TURN_PORT_ANY)
		: refusal;
}

// Decodes and judges all peers of a CreatePermission.
static enum turn_refusal peers_wanted(struct turn_request *r)
{
	uint16_t pos = 0, off, alen;
	struct endpoint peer;
	bool any = false;

	while (stun_next(&r->m, STUN_XOR_PEER_ADDRESS, &pos, &off, &alen)) {
		enum turn_refusal refusal = peer_asked(r, off, &peer);

		if (refusal == TURN_GRANTED)
			refusal = address_admit(r->s, r->slot, &peer);
		if (refusal != TURN_GRANTED)
			return refusal;
		any = true;
	}
	return any ? TURN_GRANTED : TURN_REFUSED_MALFORMED;
}

// The distinct addresses of a request: a hash table of their offsets in it, 0 = free. It has an
// entry for every 8 bytes of the message. An address takes 12, so at least a third is free. Without
// the key of the hash nobody can make the look-ups long.
struct named {
	const struct turn_request *r;
	unsigned int nth; // index of the permission of each address
	uint32_t mask;
	uint16_t off[NAMED_MAX];
};

static void named_begin(struct named *n, const struct turn_request *r, unsigned int nth)
{
	n->r = r;
	n->nth = nth;
	n->mask = 7;
	while (n->mask < r->m.len / 8u)
		n->mask = 2 * n->mask + 1;
	memset(n->off, 0, (n->mask + 1) * sizeof(n->off[0]));
}

// Adds the address at offset off. False if it is there already.
static bool named_add(struct named *n, uint16_t off, const struct addr *a)
{
	const struct turn_request *r = n->r;
	uint64_t i = hash_addr(&r->s->key, a, r->slot);
	uint32_t slot = r->slot;
	struct endpoint known;

	for (;; i++) {
		uint16_t *entry = &n->off[i & n->mask];

		if (*entry == 0) {
			*entry = off;
			return true;
		}
		peer_named(r->s, &slot, &r->m, *entry, &known);
		permission_nth(r->s, slot, &known.addr, n->nth, &known.addr);
		if (addr_eq(&known.addr, a))
			return false;
	}
}

// Counts the permissions of a request that do not exist yet, each once: nb[0] for the allocation of
// r->slot, nb[1] for its sibling. peers_wanted has accepted them.
static void peers_new(const struct turn_request *r, unsigned int nth, uint32_t nb[2])
{
	uint16_t pos = 0, off, alen;
	struct endpoint peer;
	struct named n;

	named_begin(&n, r, nth);
	while (stun_next(&r->m, STUN_XOR_PEER_ADDRESS, &pos, &off, &alen)) {
		uint32_t slot = r->slot;

		peer_named(r->s, &slot, &r->m, off, &peer);
		if (permission_nth(r->s, slot, &peer.addr, nth, &peer.addr) &&
			peers_permission_find(r->s, slot, &peer.addr) == TURN_NONE)
			nb[slot != r->slot] += named_add(&n, off, &peer.addr);
	}
}

// Makes or refreshes the permissions of a request.
static enum turn_refusal peers_permit(const struct turn_request *r, unsigned int nth)
{
	uint16_t pos = 0, off, alen;
	struct endpoint peer;

	while (stun_next(&r->m, STUN_XOR_PEER_ADDRESS, &pos, &off, &alen)) {
		uint32_t slot = r->slot;

		peer_named(r->s, &slot, &r->m, off, &peer);
		if (permission_nth(r->s, slot, &peer.addr, nth, &peer.addr) &&
			peers_permission_set(r->s, slot, &peer.addr) == TURN_NONE)
			return TURN_REFUSED_PERMISSIONS;
	}
	return TURN_GRANTED;
}

enum turn_refusal method_create_permission(struct turn_request *r)
{
	struct turn_shard *s = r->s;
	const unsigned int most = permissions_most(s);
	uint32_t nb[2] = {0}, slot;
	enum turn_refusal refusal = peers_wanted(r);

	if (refusal != TURN_GRANTED)
		return refusal;
	settle_client(s, r->slot);
	for (unsigned int i = 0; i < most; i++)
		peers_new(r, i, nb);
	if (!peers_permissions_fit_both(s, r->slot, nb))
		return TURN_REFUSED_PERMISSIONS;
	for (unsigned int i = 0; i < most && refusal == TURN_GRANTED; i++)
		refusal = peers_permit(r, i);
	if (refusal != TURN_GRANTED)
		return refusal;
	line_copy_channel(s, r->slot);
	slot = alloc_sibling(s, r->slot);
	if (slot != TURN_NONE)
		line_copy_channel(s, slot);
	return TURN_GRANTED;
}

// RFC 8656 12.2: a number is bound to one peer, and a peer to one number; else 400, after which a
// client starts again with a new allocation (12.3). A client that has used another form of the
// peer's address before cannot know that it has a channel to it. Its request is not wrong, so it
// does not get 400.
static enum turn_refusal binding_clash(
	const struct turn_request *r, const struct peers_channel *want)
{
	const struct turn_shard *s = r->s;
	const uint32_t by_number = peers_channel_by_number(s, r->slot, want->number);
	const uint32_t by_peer = peers_channel_by_peer(s, r->slot, &want->peer);
	const uint32_t sibling = alloc_sibling(s, r->slot);

	// numbers are unique per client, for both allocations
	if (sibling != TURN_NONE && peers_channel_by_number(s, sibling, want->number) != TURN_NONE)
		return TURN_REFUSED_CHANNEL_CLASH;
	if (by_number == by_peer)
		return TURN_GRANTED;
	if (by_number != TURN_NONE || s->channel_form[by_peer] == want->form)
		return TURN_REFUSED_CHANNEL_CLASH;
	return TURN_REFUSED_CHANNEL_FORM;
}

// RFC 8656 12 ends the channel numbers at 0x4FFF. RFC 5766 11 ended them at 0x7FFF, and its clients
// use all of them. A client that has received our PASSWORD-ALGORITHMS and does not echo it is such
// a client, because RFC 8489 9.2.5 makes newer clients echo it (doc/decisions/0004).
static bool number_valid(const struct turn_request *r, uint16_t number)
{
	const bool old = !r->cred.rfc8489;
	const uint16_t max =
		old && r->s->policy->rfc5766_channels ? CHANNEL_MAX_RFC5766 : CHANNEL_MAX;

	return number >= CHANNEL_MIN && number <= max;
}

// Binds the channel. A feature may register its peer, too.
static enum turn_refusal bind_channel(struct turn_request *r, const struct peers_channel *want)
{
#define X(bind, has, gone, records, put) \
	if (shard_shares_ports(r->s))    \
		return bind(r->s, r->slot, want);
	TURN_REGISTERED(X)
#undef X
	return peers_channel_set(r->s, r->slot, want);
}

// True if there is room for all permissions of a new channel that permit_common makes. A refresh of
// an existing channel always succeeds: its address may have become common since.
static bool common_fits(
	const struct turn_request *r, const struct peers_channel *want, const struct addr *named)
{
	struct turn_shard *s = r->s;
	uint32_t nb = 0;
	struct addr a;

	if (peers_channel_by_number(s, r->slot, want->number) != TURN_NONE)
		return true;
	for (unsigned int i = 0; i < PERMISSIONS; i++)
		nb += permission_nth(s, r->slot, named, i, &a) &&
			peers_permission_find(s, r->slot, &a) == TURN_NONE;
	return peers_permissions_fit(s, r->slot, nb);
}

// A channel permits its peer's address with any port. For a common address, this adds the
// permissions that the channel itself has not made.
static void permit_common(struct turn_shard *s, uint32_t slot, const struct addr *named)
{
	struct addr a;

	for (unsigned int i = 0; i < PERMISSIONS; i++)
		if (permission_nth(s, slot, named, i, &a) &&
			(peers_permission_find(s, slot, &a) != TURN_NONE ||
				peers_permissions_fit(s, slot, 1)))
			peers_permission_bind(s, slot, &a);
}

enum turn_refusal method_channel_bind(struct turn_request *r)
{
	const struct stun_msg *m = &r->m;
	struct peers_channel want;
	struct endpoint named;
	enum turn_refusal refusal;
	uint32_t value;
	bool is_common;

	if (!stun_get_u32(m, STUN_CHANNEL_NUMBER, &value) || !stun_has(m, STUN_XOR_PEER_ADDRESS))
		return TURN_REFUSED_MALFORMED;
	if (alloc_is_tcp(r->s, r->slot))
		return TURN_REFUSED_TCP_METHOD;
	want.number = (uint16_t)(value >> 16);
	if (!number_valid(r, want.number))
		return TURN_REFUSED_CHANNEL_NUMBER;
	refusal = peer_asked(r, m->off[STUN_XOR_PEER_ADDRESS], &want.peer);
	if (refusal != TURN_GRANTED)
		return refusal;
	named = want.peer;
	want.peer = policy_meant(alloc_policy(r->s, r->slot), &named, false);
	want.form = addr_eq(&want.peer.addr, &named.addr)
		? 0
		: external_form(&r->s->policy->external, &named.addr);
	refusal = permit_admit(r->s, r->slot, &want.peer, want.peer.port);
	if (refusal != TURN_GRANTED)
		return refusal;
	settle_client(r->s, r->slot);
	is_common = policy_is_common(alloc_policy(r->s, r->slot), &named.addr);
	refusal = binding_clash(r, &want);
	if (refusal == TURN_GRANTED && is_common && !common_fits(r, &want, &named.addr))
		refusal = TURN_REFUSED_PERMISSIONS;
	if (refusal == TURN_GRANTED)
		refusal = bind_channel(r, &want);
	if (refusal == TURN_GRANTED && is_common)
		permit_common(r->s, r->slot, &named.addr);
	return refusal;
}
