// SPDX-License-Identifier: BSD-3-Clause
// Restores the permissions, the peers on shared addresses and the channels of restored allocations.
// Each must pass the checks of a CreatePermission, Send or ChannelBind.
#include "state/adopt.h"

#include "peers.h"
#include "requests/permit.h"
#include "shard.h"

static const struct state_permission *permission_at(const struct adopt *d, uint32_t i)
{
	return (const struct state_permission *)state_at(d->h, d->part->permission_at) + i;
}

static const struct state_channel *channel_at(const struct adopt *d, uint32_t i)
{
	return (const struct state_channel *)state_at(d->h, d->part->channel_at) + i;
}

// The allocation that a record belongs to; NULL if that has ended or was not restored.
static struct adopt_alloc *find_alloc(struct adopt *d, uint32_t slot, uint32_t made)
{
	struct adopt_alloc *p = slot < d->part->nb_slots ? &d->alloc[slot] : NULL;

	return p != NULL && p->is_restored && p->made == made ? p : NULL;
}

// --- permissions --------------------------------------------------------------------------------

// Maximum lifetime of a permission: one that a ChannelBind has made lives as long as the channel.
static uint64_t most_ms(const struct turn_shard *s)
{
	const struct turn_limits *l = &s->policy->limits;

	return (l->channel_s > l->permission_s ? l->channel_s : l->permission_s) * UINT64_C(1000);
}

static void restore_permission(struct adopt *d, uint32_t i)
{
	const struct state_permission r = *permission_at(d, i);
	const uint64_t digest = state_digest_permission(&d->h->record_key, &r);
	const struct endpoint peer = {r.peer, 1};
	enum turn_refusal refusal;
	struct adopt_alloc *p;
	struct turn_shard *s;

	if (adopt_word(d, r.word, digest, STATE_ARRAY_PERMISSION | i) != ADOPT_GOOD)
		return;
	p = find_alloc(d, r.slot, r.made);
	if (p == NULL)
		return;
	s = d->a->shards[p->worker];
	refusal = permit_admit(s, p->slot, &peer, TURN_PORT_ANY);
	if (refusal == TURN_REFUSED_PEER_DENIED || refusal == TURN_REFUSED_PEER_OWN ||
		refusal == TURN_REFUSED_PEER_NEVER) { // as after a reload
		adopt_lost(d, TURN_STATE_LOST_PEER);
		return adopt_end(d, p, TURN_END_PEER);
	}
	if (refusal != TURN_GRANTED || peers_permission_find(s, p->slot, &r.peer) != TURN_NONE ||
		!peers_permissions_fit(s, p->slot, 1) ||
		peers_permission_put(s, p->slot, &r.peer, adopt_left(d, r.word, most_ms(s))) ==
			TURN_NONE)
		return adopt_lost(d, TURN_STATE_LOST_PERMISSION);
	d->out->permissions++;
}

// The address of the permission that this allocation's record refers to, if it was restored.
static bool peer_of(struct adopt *d, const struct state_channel *r, const struct adopt_alloc *p,
	struct addr *out)
{
	const struct state_permission *m =
		r->permission < d->part->nb_permissions ? permission_at(d, r->permission) : NULL;

	if (m == NULL || m->slot != r->slot || m->made != r->made)
		return false;
	*out = m->peer;
	return peers_permission_find(d->a->shards[p->worker], p->slot, out) != TURN_NONE;
}

// --- peers on shared addresses ------------------------------------------------------------------

static bool registered_put(struct turn_shard *s, uint32_t slot, const struct endpoint *peer)
{
#define X(bind, has, gone, records, put) \
	if (shard_shares_ports(s))       \
		return put(s, slot, peer);
	TURN_REGISTERED(X)
#undef X
	return false;
}

// False if the peer of a channel is not registered, but must be.
static bool registered_has(struct turn_shard *s, uint32_t slot, const struct endpoint *peer)
{
#define X(bind, has, gone, records, put) \
	if (shard_shares_ports(s))       \
		return has(s, slot, peer);
	TURN_REGISTERED(X)
#undef X
	return true;
}

static void restore_endpoint(struct adopt *d, uint32_t i)
{
	const struct state_channel r =
		((const struct state_channel *)state_at(d->h, d->part->endpoint_at))[i];
	const uint64_t digest = state_digest_channel(&d->h->record_key, &r);
	struct endpoint peer = {.port = r.port};
	struct adopt_alloc *p;
	struct turn_shard *s;

	if (adopt_word(d, r.word, digest, STATE_ARRAY_ENDPOINT | i) != ADOPT_GOOD)
		return;
	p = find_alloc(d, r.slot, r.made);
	if (p == NULL)
		return;
	s = d->a->shards[p->worker];
	if (!peer_of(d, &r, p, &peer.addr) || !registered_put(s, p->slot, &peer))
		return adopt_lost(d, TURN_STATE_LOST_CHANNEL);
	d->out->endpoints++;
}

// --- channels -----------------------------------------------------------------------------------

static bool channel_insert(
	struct turn_shard *s, uint32_t slot, const struct peers_channel *want, uint32_t left_ms)
{
	const uint16_t max = s->policy->rfc5766_channels ? CHANNEL_MAX_RFC5766 : CHANNEL_MAX;

	return want->number >= CHANNEL_MIN && want->number <= max &&
		permit_admit(s, slot, &want->peer, want->peer.port) == TURN_GRANTED &&
		peers_channel_by_number(s, slot, want->number) == TURN_NONE &&
		peers_channel_by_peer(s, slot, &want->peer) == TURN_NONE &&
		registered_has(s, slot, &want->peer) &&
		peers_channel_put(s, slot, want, left_ms) == TURN_GRANTED;
}

static void restore_channel(struct adopt *d, uint32_t i)
{
	const struct state_channel r = *channel_at(d, i);
	const uint64_t digest = state_digest_channel(&d->h->record_key, &r);
	const uint32_t left_ms =
		adopt_left(d, r.word, d->a->shards[0]->policy->limits.channel_s * UINT64_C(1000));
	struct peers_channel want = {.peer.port = r.port, .number = r.number, .form = r.form};
	struct adopt_alloc *p;

	if (adopt_word(d, r.word, digest, STATE_ARRAY_CHANNEL | i) != ADOPT_GOOD || left_ms == 0)
		return;
	p = find_alloc(d, r.slot, r.made);
	if (p == NULL)
		return;
	if (!peer_of(d, &r, p, &want.peer.addr) ||
		!channel_insert(d->a->shards[p->worker], p->slot, &want, left_ms))
		return adopt_lost(d, TURN_STATE_LOST_CHANNEL);
	d->out->channels++;
}

// Records are in the order in which they were made, and allocations in the order of their ports:
// memory for the next records is prefetched while others are restored.
#define AHEAD 8

static void prefetch_entry(const struct adopt *d, uint32_t slot)
{
	if (slot < d->part->nb_slots)
		__builtin_prefetch(&d->alloc[slot]);
}

static void prefetch_allocation(const struct adopt *d, uint32_t slot)
{
	const struct adopt_alloc *p = slot < d->part->nb_slots ? &d->alloc[slot] : NULL;
	const struct turn_shard *s;

	if (p == NULL || !p->is_restored)
		return;
	s = d->a->shards[p->worker];
	__builtin_prefetch(cold_at(s, p->slot), 1);
	__builtin_prefetch((const uint8_t *)(cold_at(s, p->slot) + 1) - 1, 1);
	__builtin_prefetch(alloc_at(s, p->slot), 1);
	__builtin_prefetch(&s->wheel.node[p->slot], 1);
}

static void restore_permissions(struct adopt *d)
{
	const uint32_t nb = d->part->nb_permissions;

	for (uint32_t i = 0; i < nb; i++) {
		if (i + 2 * AHEAD < nb)
			prefetch_entry(d, permission_at(d, i + 2 * AHEAD)->slot);
		if (i + AHEAD < nb)
			prefetch_allocation(d, permission_at(d, i + AHEAD)->slot);
		if (permission_at(d, i)->word != STATE_EMPTY)
			restore_permission(d, i);
	}
}

static void restore_channels(struct adopt *d)
{
	const uint32_t nb = d->part->nb_channels;

	for (uint32_t i = 0; i < nb; i++) {
		if (i + 2 * AHEAD < nb)
			prefetch_entry(d, channel_at(d, i + 2 * AHEAD)->slot);
		if (i + AHEAD < nb)
			prefetch_allocation(d, channel_at(d, i + AHEAD)->slot);
		if (channel_at(d, i)->word != STATE_EMPTY)
			restore_channel(d, i);
	}
}

void adopt_peers(struct adopt *d)
{
	restore_permissions(d);
	for (uint32_t i = 0; i < d->part->nb_endpoints; i++)
		restore_endpoint(d, i);
	restore_channels(d);
}
