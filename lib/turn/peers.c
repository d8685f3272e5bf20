// SPDX-License-Identifier: BSD-3-Clause
// Permissions (RFC 8656 section 9) and channels (section 12) of an allocation. There is a tree of
// permissions by address, a tree of channels by number, and in each permission a tree of its
// channels by port. An ordinary client has a few records, which are found in a few steps. A hostile
// client may have thousands; a path is then little longer than log2 of their number.
#include "peers.h"
#include "events/tell.h"
#include "invariant.h"
#include "shard.h"
#include "state/writer.h"

static uint32_t permission_left(const struct turn_shard *s, uint32_t i)
{
	return ms_left(s->permission[i].until, s->now_ms);
}

static uint32_t channel_left(const struct turn_shard *s, uint32_t i)
{
	return ms_left(s->channel[i].until, s->now_ms);
}

// --- look-up: each returns the link to a record, or the link where it would be inserted ----------

// The slot is part of the hash, so the trees of each allocation have a different shape.
static uint32_t *permission_link(const struct turn_shard *s, uint32_t slot, const struct addr *peer)
{
	uint64_t hash = hash_addr(&s->key, peer, slot);
	uint32_t *link = &cold_at(s, slot)->permissions;

	while (*link != TURN_NONE && !addr_eq(&s->permission[*link].peer, peer))
		link = trie_step(&s->by_address, *link, &hash);
	return link;
}

static uint32_t *number_link(const struct turn_shard *s, uint32_t slot, uint16_t number)
{
	static const struct addr none;
	uint64_t hash = hash_addr(&s->key, &none, (uint64_t)number << 32 | slot);
	uint32_t *link = &cold_at(s, slot)->channels;

	while (*link != TURN_NONE && s->channel[*link].number != number)
		link = trie_step(&s->by_number, *link, &hash);
	return link;
}

static uint32_t *port_link(const struct turn_shard *s, uint32_t permission, uint16_t port)
{
	struct turn_permission *p = &s->permission[permission];
	uint64_t hash = hash_addr(&s->key, &p->peer, UINT64_C(1) << 63 | port);
	uint32_t *link = &p->channels;

	while (*link != TURN_NONE && s->channel[*link].port != port)
		link = trie_step(&s->by_port, *link, &hash);
	return link;
}

uint32_t peers_permission_find(const struct turn_shard *s, uint32_t slot, const struct addr *peer)
{
	return *permission_link(s, slot, peer);
}

bool peers_permission_live(const struct turn_shard *s, uint32_t slot, const struct addr *peer)
{
	const uint32_t i = peers_permission_find(s, slot, peer);

	return i != TURN_NONE && permission_left(s, i) > 0;
}

uint32_t peers_channel_by_number(const struct turn_shard *s, uint32_t slot, uint16_t number)
{
	return *number_link(s, slot, number);
}

uint32_t peers_channel_by_peer(
	const struct turn_shard *s, uint32_t slot, const struct endpoint *peer)
{
	const uint32_t permission = peers_permission_find(s, slot, &peer->addr);

	return permission != TURN_NONE ? *port_link(s, permission, peer->port) : TURN_NONE;
}

bool peers_channel_live(const struct turn_shard *s, uint32_t channel)
{
	return channel_left(s, channel) > 0;
}

// --- making and refreshing -----------------------------------------------------------------------

bool peers_permissions_fit(struct turn_shard *s, uint32_t slot, uint32_t nb)
{
	const uint32_t has = cold_at(s, slot)->nb_permissions;

	return has + nb <= s->policy->limits.permissions &&
		share_allows(s, &s->permission_share, slot, has, nb);
}

bool peers_permissions_fit_both(struct turn_shard *s, uint32_t slot, const uint32_t nb[2])
{
	const struct share *h = &s->permission_share;
	const uint32_t sibling = alloc_sibling(s, slot), most = s->policy->limits.permissions;
	uint32_t has[2] = {cold_at(s, slot)->nb_permissions};

	if (sibling == TURN_NONE || nb[1] == 0)
		return peers_permissions_fit(s, slot, nb[0]);
	has[1] = cold_at(s, sibling)->nb_permissions;
	// the records of both beyond their guaranteed numbers belong to one user
	return has[0] + nb[0] <= most && has[1] + nb[1] <= most &&
		share_allows(s, h, slot, h->sure,
			share_more(h, has[0], nb[0]) + share_more(h, has[1], nb[1]));
}

static bool channel_fits(struct turn_shard *s, uint32_t slot)
{
	const uint32_t has = cold_at(s, slot)->nb_channels;

	return has < s->policy->limits.channels && share_allows(s, &s->channel_share, slot, has, 1);
}

// Makes a permission at the link where the look-up of its address has ended.
static uint32_t permission_new(
	struct turn_shard *s, uint32_t slot, const struct addr *peer, uint32_t *link)
{
	const uint32_t i = pool_take(&s->permissions);
	struct turn_cold *c = cold_at(s, slot);

	if (i == TURN_NONE)
		return TURN_NONE;
	ASSERT((c->nb_permissions == 0) == (c->permissions == TURN_NONE));
	share_take(&s->permission_share, c->quota_user, c->nb_permissions++);
	s->permission[i] = (struct turn_permission){.peer = *peer, .channels = TURN_NONE};
	trie_insert(&s->by_address, link, i);
	return i;
}

// Sets the permission to expire in left_ms, even if that is earlier than before.
static void permission_until(
	struct turn_shard *s, uint32_t slot, uint32_t i, uint32_t left_ms, bool is_new)
{
	s->permission[i].until = (uint32_t)(s->now_ms + left_ms);
	state_permission(s, slot, i, left_ms, is_new);
	alloc_timer(s, slot, s->now_ms + left_ms);
}

uint32_t peers_permission_put(
	struct turn_shard *s, uint32_t slot, const struct addr *peer, uint32_t left_ms)
{
	uint32_t *link = permission_link(s, slot, peer);
	const bool is_new = *link == TURN_NONE;
	const uint32_t i = is_new ? permission_new(s, slot, peer, link) : *link;

	if (i != TURN_NONE && (is_new || permission_left(s, i) < left_ms))
		permission_until(s, slot, i, left_ms, is_new);
	return i;
}

// Puts a permission that a request asks for, and reports a new one.
static uint32_t permission_asked(
	struct turn_shard *s, uint32_t slot, const struct addr *peer, uint32_t left_ms)
{
	const uint32_t before = cold_at(s, slot)->nb_permissions;
	const uint32_t i = peers_permission_put(s, slot, peer, left_ms);

	if (cold_at(s, slot)->nb_permissions > before)
		tell_peer(s, slot, &(struct endpoint){.addr = *peer});
	return i;
}

uint32_t peers_permission_set(struct turn_shard *s, uint32_t slot, const struct addr *peer)
{
	return permission_asked(s, slot, peer, s->policy->limits.permission_s * 1000);
}

// Clients that rebind their channel without refreshing the permission expect to keep receiving: a
// permission that a ChannelBind makes lives as long as the channel (doc/protocol.md, deviations).
uint32_t peers_permission_bind(struct turn_shard *s, uint32_t slot, const struct addr *peer)
{
	const struct turn_limits *l = &s->policy->limits;

	return permission_asked(s, slot, peer,
		(l->channel_s > l->permission_s ? l->channel_s : l->permission_s) * 1000);
}

// Makes a channel of an allocation that has room for it. TURN_NONE if the pool is empty.
static uint32_t channel_new(
	struct turn_shard *s, uint32_t slot, uint16_t number, uint16_t port, uint32_t permission)
{
	const uint32_t i = pool_take(&s->channels);
	struct turn_cold *c = cold_at(s, slot);

	if (i == TURN_NONE)
		return TURN_NONE;
	ASSERT((c->nb_channels == 0) == (c->channels == TURN_NONE));
	ASSERT(permission < s->permissions.fresh);
	share_take(&s->channel_share, c->quota_user, c->nb_channels++);
	s->channel[i] = (struct turn_channel){
		.permission = permission, .slot = slot, .port = port, .number = number};
	trie_insert(&s->by_number, number_link(s, slot, number), i);
	trie_insert(&s->by_port, port_link(s, permission, port), i);
	ASSERT(*number_link(s, slot, number) == i && *port_link(s, permission, port) == i);
	return i;
}

// A channel to bind: its permission, its own index if it exists already, and its lifetime.
struct binding {
	uint32_t permission, channel, left_ms;
};

// Binds or refreshes a channel of an allocation that has room for it.
static enum turn_refusal channel_put(struct turn_shard *s, uint32_t slot,
	const struct peers_channel *want, const struct binding *binding)
{
	const bool is_new = binding->channel == TURN_NONE;
	const uint32_t i = is_new
		? channel_new(s, slot, want->number, want->peer.port, binding->permission)
		: binding->channel;
	bool renamed;

	if (i == TURN_NONE)
		return TURN_REFUSED_CHANNELS;
	ASSERT(s->channel[i].slot == slot && s->channel[i].permission == binding->permission);
	ASSERT(s->channel[i].number == want->number && s->channel[i].port == want->peer.port);
	ASSERT(binding->left_ms <=
		permission_left(s, binding->permission)); // outlives its channels
	renamed = s->channel_form[i] != want->form;
	s->channel_form[i] = want->form;
	s->channel[i].until = (uint32_t)(s->now_ms + binding->left_ms);
	state_channel(s, i, binding->left_ms, is_new || renamed);
	alloc_timer(s, slot, s->now_ms + binding->left_ms);
	line_copy_channel(s, slot);
	return TURN_GRANTED;
}

enum turn_refusal peers_channel_put(
	struct turn_shard *s, uint32_t slot, const struct peers_channel *want, uint32_t left_ms)
{
	struct binding binding = {
		.channel = peers_channel_by_number(s, slot, want->number), .left_ms = left_ms};

	if (binding.channel == TURN_NONE && !channel_fits(s, slot))
		return TURN_REFUSED_CHANNELS;
	binding.permission = peers_permission_put(s, slot, &want->peer.addr, left_ms);
	ASSERT(binding.permission != TURN_NONE);
	return channel_put(s, slot, want, &binding);
}

enum turn_refusal peers_channel_set(
	struct turn_shard *s, uint32_t slot, const struct peers_channel *want)
{
	const bool known = peers_permission_find(s, slot, &want->peer.addr) != TURN_NONE;
	struct binding binding = {.channel = peers_channel_by_number(s, slot, want->number),
		.left_ms = s->policy->limits.channel_s * 1000};

	if (!known && !peers_permissions_fit(s, slot, 1))
		return TURN_REFUSED_PERMISSIONS;
	if (binding.channel == TURN_NONE && !channel_fits(s, slot))
		return TURN_REFUSED_CHANNELS;
	binding.permission = peers_permission_bind(s, slot, &want->peer.addr);
	if (binding.permission == TURN_NONE)
		return TURN_REFUSED_PERMISSIONS;
	return channel_put(s, slot, want, &binding);
}

uint32_t peers_permission_time(const struct turn_shard *s, uint32_t slot, const struct addr *peer)
{
	const uint32_t i = peers_permission_find(s, slot, peer);

	return i != TURN_NONE ? permission_left(s, i) : 0;
}

uint32_t peers_channel_time(const struct turn_shard *s, uint32_t channel)
{
	return channel_left(s, channel);
}

// --- ending: children before their parent, which one of them may replace -------------------------

// Frees the expired channels below a link. Lowers *next_ms to the shortest remaining time of the
// other channels there.
static void channels_purge(struct turn_shard *s, uint32_t slot, uint32_t *link, uint32_t *next_ms)
{
	const uint32_t i = *link;
	struct turn_cold *c = cold_at(s, slot);
	uint32_t left_ms;

	if (i == TURN_NONE)
		return;
	channels_purge(s, slot, &s->channel[i].by_number.child[0], next_ms);
	channels_purge(s, slot, &s->channel[i].by_number.child[1], next_ms);
	left_ms = channel_left(s, i);
	if (left_ms > 0) {
		*next_ms = left_ms < *next_ms ? left_ms : *next_ms;
		return;
	}
	ASSERT(s->channel[i].slot == slot && c->nb_channels > 0);
	// the copy of a channel in its line is valid for less time than the channel
	ASSERT(!line_copies(alloc_at(s, slot), s->tick) ||
		alloc_at(s, slot)->channel != __builtin_bswap16(s->channel[i].number));
	trie_remove(&s->by_number, link);
	trie_remove(&s->by_port, port_link(s, s->channel[i].permission, s->channel[i].port));
	share_give(&s->channel_share, c->quota_user, c->nb_channels--);
	state_channel_gone(s, i);
	pool_give(&s->channels, i);
}

// Ends the registrations of peers under a permission that is about to be freed.
static inline void registered_gone(struct turn_shard *s, uint32_t permission)
{
#define X(bind, has, gone, records, put) \
	if (shard_shares_ports(s))       \
		gone(s, permission);
	TURN_REGISTERED(X)
#undef X
}

// Frees expired permissions in this way. A permission outlives its channels, which are already
// freed.
static void permissions_purge(
	struct turn_shard *s, uint32_t slot, uint32_t *link, uint32_t *next_ms)
{
	const uint32_t i = *link;
	struct turn_cold *c = cold_at(s, slot);
	uint32_t left_ms;

	if (i == TURN_NONE)
		return;
	permissions_purge(s, slot, &s->permission[i].links.child[0], next_ms);
	permissions_purge(s, slot, &s->permission[i].links.child[1], next_ms);
	left_ms = permission_left(s, i);
	if (left_ms > 0) {
		*next_ms = left_ms < *next_ms ? left_ms : *next_ms;
		return;
	}
	ASSERT(s->permission[i].channels == TURN_NONE && c->nb_permissions > 0);
	registered_gone(s, i);
	trie_remove(&s->by_address, link);
	share_give(&s->permission_share, c->quota_user, c->nb_permissions--);
	state_permission_gone(s, i);
	pool_give(&s->permissions, i);
}

uint32_t peers_purge(struct turn_shard *s, uint32_t slot)
{
	uint32_t next_ms = UINT32_MAX;

	channels_purge(s, slot, &cold_at(s, slot)->channels, &next_ms);
	permissions_purge(s, slot, &cold_at(s, slot)->permissions, &next_ms);
	ASSERT((cold_at(s, slot)->nb_channels == 0) == (cold_at(s, slot)->channels == TURN_NONE));
	ASSERT((cold_at(s, slot)->nb_permissions == 0) ==
		(cold_at(s, slot)->permissions == TURN_NONE));
	ASSERT(next_ms > 0);
	return next_ms;
}

void peers_settle(struct turn_shard *s, uint32_t slot)
{
	// The slot's timer is set to the earliest expiry or before it, so nothing has expired while
	// it is armed and not due.
	if (!wheel_later(&s->wheel, slot, s->now_ms))
		peers_purge(s, slot);
}

// Records keep their contents until the end of the round, because plans made earlier in it refer to
// them.
static void pool_give_all(struct turn_pool *pool, const struct trie *t, uint32_t i)
{
	if (i == TURN_NONE)
		return;
	pool_give_all(pool, t, trie_at(t, i)->child[0]);
	pool_give_all(pool, t, trie_at(t, i)->child[1]);
	pool_give(pool, i);
}

static void forget_all(struct turn_shard *s, uint32_t permission)
{
	if (permission == TURN_NONE)
		return;
	forget_all(s, s->permission[permission].links.child[0]);
	forget_all(s, s->permission[permission].links.child[1]);
	registered_gone(s, permission);
}

void peers_end(struct turn_shard *s, uint32_t slot)
{
	struct turn_cold *cold = cold_at(s, slot);

	ASSERT((cold->nb_channels == 0) == (cold->channels == TURN_NONE));
	ASSERT((cold->nb_permissions == 0) == (cold->permissions == TURN_NONE));
	ASSERT(cold->nb_channels <= pool_used(&s->channels));
	ASSERT(cold->nb_permissions <= pool_used(&s->permissions));
	if (shard_shares_ports(s))
		forget_all(s, cold->permissions);
	share_give_all(&s->channel_share, cold->quota_user, cold->nb_channels);
	share_give_all(&s->permission_share, cold->quota_user, cold->nb_permissions);
	pool_give_all(&s->channels, &s->by_number, cold->channels);
	pool_give_all(&s->permissions, &s->by_address, cold->permissions);
	cold->channels = cold->permissions = TURN_NONE;
	cold->nb_channels = cold->nb_permissions = 0;
}
