// SPDX-License-Identifier: BSD-3-Clause
// Permissions (RFC 8656 section 9) and channels (section 12) of an allocation. Both are found
// through one keyed table; each allocation chains its own for the purge and the end.
#include "turn_int.h"

static uint64_t record_hash(const struct turn_shard *s, uint32_t slot, const struct addr *peer,
	uint32_t kind, uint16_t extra)
{
	static const struct addr none;
	const uint64_t key = (uint64_t)(kind | extra) << 32 | slot;

	return hash_addr(&s->key, peer != NULL ? peer : &none, key);
}

static uint64_t permission_hash(const struct turn_shard *s, const struct turn_permission *p)
{
	return record_hash(s, p->slot, &p->peer, RECORD_PERMISSION, 0);
}

static uint64_t number_hash(const struct turn_shard *s, const struct turn_channel *c)
{
	return record_hash(s, c->slot, NULL, RECORD_NUMBER, c->number);
}

static uint64_t peer_hash(const struct turn_shard *s, const struct turn_channel *c)
{
	return record_hash(s, c->slot, &s->permission[c->permission].peer, RECORD_PEER, c->port);
}

uint32_t permission_find(const struct turn_shard *s, uint32_t slot, const struct addr *peer)
{
	const uint64_t hash = record_hash(s, slot, peer, RECORD_PERMISSION, 0);
	struct table_iter it = {0};
	uint32_t i;

	while (table_next(&s->records, hash, &it, &i)) {
		if ((i & RECORD_KIND) != RECORD_PERMISSION)
			continue;
		if (s->permission[i].slot == slot && addr_eq(&s->permission[i].peer, peer))
			return i;
	}
	return TURN_NONE;
}

bool permission_live(const struct turn_shard *s, uint32_t slot, const struct addr *peer)
{
	const uint32_t i = permission_find(s, slot, peer);

	return i != TURN_NONE && s->permission[i].until_ms > s->now_ms;
}

uint32_t channel_by_number(const struct turn_shard *s, uint32_t slot, uint16_t number)
{
	const uint64_t hash = record_hash(s, slot, NULL, RECORD_NUMBER, number);
	struct table_iter it = {0};
	uint32_t i;

	while (table_next(&s->records, hash, &it, &i)) {
		const uint32_t c = i & ~RECORD_KIND;

		if ((i & RECORD_KIND) == RECORD_NUMBER && s->channel[c].slot == slot &&
			s->channel[c].number == number)
			return c;
	}
	return TURN_NONE;
}

uint32_t channel_by_peer(const struct turn_shard *s, uint32_t slot, const struct endpoint *peer)
{
	const uint64_t hash = record_hash(s, slot, &peer->addr, RECORD_PEER, peer->port);
	struct table_iter it = {0};
	uint32_t i;

	while (table_next(&s->records, hash, &it, &i)) {
		const struct turn_channel *c = &s->channel[i & ~RECORD_KIND];

		if ((i & RECORD_KIND) == RECORD_PEER && c->slot == slot && c->port == peer->port &&
			addr_eq(&s->permission[c->permission].peer, &peer->addr))
			return i & ~RECORD_KIND;
	}
	return TURN_NONE;
}

bool channel_live(const struct turn_shard *s, uint32_t channel)
{
	const struct turn_channel *c = &s->channel[channel];

	// A channel outlives its permission; data then stops until the permission is renewed
	// (RFC 8656 12: the binding lasts 600 s, section 9: the permission 300 s).
	return c->until_ms > s->now_ms && s->permission[c->permission].until_ms > s->now_ms;
}

bool permissions_fit(const struct turn_shard *s, uint32_t slot, uint32_t nb)
{
	return cold_at(s, slot)->nb_permissions + nb <= s->policy->limits.permissions &&
		nb <= s->permissions.free;
}

static uint32_t permission_new(struct turn_shard *s, uint32_t slot, const struct addr *peer)
{
	struct turn_cold *cold = cold_at(s, slot);
	const uint32_t i = pool_take(&s->permissions);
	struct turn_permission *p;

	if (i == TURN_NONE)
		return TURN_NONE;
	p = &s->permission[i];
	*p = (struct turn_permission){.peer = *peer, .slot = slot, .next = cold->permissions};
	if (!table_insert(&s->records, permission_hash(s, p), i | RECORD_PERMISSION)) {
		pool_give(&s->permissions, i);
		return TURN_NONE;
	}
	cold->permissions = i;
	cold->nb_permissions++;
	return i;
}

uint32_t permission_set(struct turn_shard *s, uint32_t slot, const struct addr *peer)
{
	uint32_t i = permission_find(s, slot, peer);

	if (i == TURN_NONE)
		i = permission_new(s, slot, peer);
	if (i == TURN_NONE)
		return TURN_NONE;
	s->permission[i].until_ms = s->now_ms + TURN_PERMISSION_MS;
	alloc_timer(s, slot, s->permission[i].until_ms);
	return i;
}

static bool channel_insert(struct turn_shard *s, uint32_t i)
{
	const struct turn_channel *c = &s->channel[i];

	if (!table_insert(&s->records, number_hash(s, c), i | RECORD_NUMBER))
		return false;
	if (table_insert(&s->records, peer_hash(s, c), i | RECORD_PEER))
		return true;
	table_remove(&s->records, number_hash(s, c), i | RECORD_NUMBER);
	return false;
}

// A new channel of an allocation that has room for it, or TURN_NONE.
static uint32_t channel_new(
	struct turn_shard *s, uint32_t slot, uint16_t number, uint16_t port, uint32_t permission)
{
	struct turn_cold *cold = cold_at(s, slot);
	const uint32_t i = pool_take(&s->channels);

	if (i == TURN_NONE)
		return TURN_NONE;
	s->channel[i] = (struct turn_channel){.permission = permission,
		.next = cold->channels,
		.slot = slot,
		.port = port,
		.number = number};
	if (!channel_insert(s, i)) {
		pool_give(&s->channels, i);
		return TURN_NONE;
	}
	cold->channels = i;
	cold->nb_channels++;
	s->permission[permission].channels++;
	return i;
}

unsigned int channel_set(
	struct turn_shard *s, uint32_t slot, uint16_t number, const struct endpoint *peer)
{
	const bool known = permission_find(s, slot, &peer->addr) != TURN_NONE;
	uint32_t i = channel_by_number(s, slot, number);
	uint32_t permission;

	if (!known && !permissions_fit(s, slot, 1))
		return 508;
	if (i == TURN_NONE &&
		(cold_at(s, slot)->nb_channels >= s->policy->limits.channels ||
			s->channels.free == 0))
		return 508;
	permission = permission_set(s, slot, &peer->addr);
	if (permission == TURN_NONE)
		return 508;
	if (i == TURN_NONE)
		i = channel_new(s, slot, number, peer->port, permission);
	if (i == TURN_NONE)
		return 508;
	s->channel[i].until_ms = s->now_ms + TURN_CHANNEL_MS;
	alloc_timer(s, slot, s->channel[i].until_ms);
	alloc_copy_channel(s, slot);
	return 0;
}

static void channel_free(struct turn_shard *s, uint32_t i)
{
	struct turn_channel *c = &s->channel[i];

	table_remove(&s->records, number_hash(s, c), i | RECORD_NUMBER);
	table_remove(&s->records, peer_hash(s, c), i | RECORD_PEER);
	s->permission[c->permission].channels--;
	cold_at(s, c->slot)->nb_channels--;
	pool_give(&s->channels, i);
}

static void permission_free(struct turn_shard *s, uint32_t i)
{
	struct turn_permission *p = &s->permission[i];

	table_remove(&s->records, permission_hash(s, p), i | RECORD_PERMISSION);
	cold_at(s, p->slot)->nb_permissions--;
	pool_give(&s->permissions, i);
}

static uint64_t channels_purge(struct turn_shard *s, uint32_t slot)
{
	uint32_t *link = &cold_at(s, slot)->channels;
	uint64_t next = UINT64_MAX;

	while (*link != TURN_NONE) {
		const uint32_t i = *link;
		struct turn_channel *c = &s->channel[i];

		if (c->until_ms <= s->now_ms) {
			*link = c->next;
			channel_free(s, i);
			continue;
		}
		// Its permission may have passed: the channel keeps that record all the same.
		next = c->until_ms < next ? c->until_ms : next;
		link = &c->next;
	}
	return next;
}

static uint64_t permissions_purge(struct turn_shard *s, uint32_t slot)
{
	uint32_t *link = &cold_at(s, slot)->permissions;
	uint64_t next = UINT64_MAX;

	while (*link != TURN_NONE) {
		const uint32_t i = *link;
		struct turn_permission *p = &s->permission[i];

		if (p->until_ms <= s->now_ms && p->channels == 0) {
			*link = p->next;
			permission_free(s, i);
			continue;
		}
		if (p->until_ms > s->now_ms && p->until_ms < next)
			next = p->until_ms;
		link = &p->next;
	}
	return next;
}

uint64_t peers_purge(struct turn_shard *s, uint32_t slot)
{
	const uint64_t channels = channels_purge(s, slot);
	const uint64_t permissions = permissions_purge(s, slot);

	return channels < permissions ? channels : permissions;
}

void peers_settle(struct turn_shard *s, uint32_t slot)
{
	// The slot's timer stands at the earliest expiry or before it: while it is armed and not
	// due, nothing has passed.
	if (!wheel_armed(&s->wheel, slot) || s->wheel.node[slot].when_ms <= s->now_ms)
		peers_purge(s, slot);
}

void peers_end(struct turn_shard *s, uint32_t slot)
{
	struct turn_cold *cold = cold_at(s, slot);

	// Records keep their contents to the end of the round: plans made earlier in it name them.
	for (uint32_t i = cold->channels; i != TURN_NONE; i = s->channel[i].next)
		channel_free(s, i);
	for (uint32_t i = cold->permissions; i != TURN_NONE; i = s->permission[i].next)
		permission_free(s, i);
	cold->channels = cold->permissions = TURN_NONE;
}
