// SPDX-License-Identifier: BSD-3-Clause
// Checks all state of a shard, in models and fuzz tests: relations that no function sees as a
// whole. Only in builds that have ASSERT.
#include "invariant.h"
#include "shard.h"

// The sums of what all slots hold.
struct held {
	uint32_t live, permissions, channels, beyond_permissions, beyond_channels;
	uint32_t over[TURN_OVER_DTLS + 1];
};

static uint32_t beyond_sure(const struct share *h, uint32_t has)
{
	return has > h->sure ? has - h->sure : 0;
}

// Checks the channels below a record, and returns their number.
static uint32_t check_channels(const struct turn_shard *s, uint32_t slot, uint32_t i)
{
	const struct turn_channel *c = &s->channel[i];
	const struct turn_permission *p;
	struct endpoint peer;

	if (i == TURN_NONE)
		return 0;
	p = &s->permission[c->permission];
	peer = (struct endpoint){p->peer, c->port};
	ASSERT(c->slot == slot && i < s->channels.fresh && c->permission < s->permissions.fresh);
	ASSERT(peers_permission_find(s, slot, &p->peer) == c->permission);
	ASSERT(peers_channel_by_number(s, slot, c->number) == i);
	ASSERT(peers_channel_by_peer(s, slot, &peer) == i);
	ASSERT((int32_t)(p->until - c->until) >= 0); // a permission outlives its channels
	return 1 + check_channels(s, slot, c->by_number.child[0]) +
		check_channels(s, slot, c->by_number.child[1]);
}

// Returns the number of channels below a record in the tree of its permission.
static uint32_t count_ports(const struct turn_shard *s, uint32_t permission, uint32_t i)
{
	if (i == TURN_NONE)
		return 0;
	ASSERT(s->channel[i].permission == permission);
	return 1 + count_ports(s, permission, s->channel[i].by_port.child[0]) +
		count_ports(s, permission, s->channel[i].by_port.child[1]);
}

// Checks the permissions below a record. Returns their number, and adds that of their channels.
static uint32_t check_permissions(
	const struct turn_shard *s, uint32_t slot, uint32_t i, uint32_t *channels)
{
	const struct turn_permission *p = &s->permission[i];

	if (i == TURN_NONE)
		return 0;
	ASSERT(peers_permission_find(s, slot, &p->peer) == i);
	*channels += count_ports(s, i, p->channels);
	return 1 + check_permissions(s, slot, p->links.child[0], channels) +
		check_permissions(s, slot, p->links.child[1], channels);
}

static void check_copy(const struct turn_shard *s, uint32_t slot)
{
	const struct turn_line *l = alloc_at(s, slot);
	const struct endpoint peer = {l->end[TURN_FROM_PEER], line_port(l, TURN_FROM_PEER)};
	const uint16_t number = __builtin_bswap16(l->channel);

	ASSERT(l->until != 0 || l->channel == 0);
	if (!line_copies(l, s->tick))
		return;
	ASSERT(peers_permission_live(s, slot, &peer.addr));
	ASSERT(number == 0 ||
		peers_channel_by_number(s, slot, number) == peers_channel_by_peer(s, slot, &peer));
}

// Checks an allocation's place in the table of clients, and its sibling.
static void check_client(struct turn_shard *s, uint32_t slot)
{
	const struct turn_view v = alloc_client_view(s, slot);
	const struct turn_cold *c = cold_at(s, slot);
	const uint32_t sibling = alloc_sibling(s, slot), first = c->is_second ? sibling : slot;
	bool away = false;

	ASSERT(sibling == TURN_NONE || alloc_sibling(s, sibling) == slot);
	ASSERT(sibling == TURN_NONE || bitset_has(&s->live, sibling));
	ASSERT(!c->is_second || c->is_dual);
#define X(left, count, end, is_away) away = away || is_away(s, slot);
	TURN_ALLOCATIONS(X)
#undef X
	ASSERT(away || alloc_lookup(s, &v) == first);
}

static void check_alloc(struct turn_shard *s, uint32_t slot, struct held *held)
{
	const struct turn_cold *c = cold_at(s, slot);
	uint32_t channels = 0;

	ASSERT(wheel_armed(&s->wheel, slot));
	ASSERT(check_channels(s, slot, c->channels) == c->nb_channels);
	ASSERT(check_permissions(s, slot, c->permissions, &channels) == c->nb_permissions);
	ASSERT(channels == c->nb_channels);
	if (!alloc_is_tcp(s, slot))
		check_copy(s, slot);
	check_client(s, slot);
	held->live++;
	held->over[alloc_transport(s, slot)]++;
	held->permissions += c->nb_permissions;
	held->channels += c->nb_channels;
	held->beyond_permissions += beyond_sure(&s->permission_share, c->nb_permissions);
	held->beyond_channels += beyond_sure(&s->channel_share, c->nb_channels);
}

static void check_redirects(const struct turn_shard *s)
{
	uint32_t used = 0, held = 0;

	for (uint32_t i = s->nb_slots; i < s->nb_slots + s->nb_redirects; i++) {
		const enum alloc_state state = line_state(alloc_at(s, i));

		ASSERT(state == ALLOC_FREE || state == ALLOC_REDIRECT || state == ALLOC_PATH);
		ASSERT(wheel_armed(&s->wheel, i) == (state != ALLOC_FREE));
		used += state != ALLOC_FREE;
	}
	ASSERT(used == pool_used(&s->redirects));
	for (unsigned int i = 0; i < REDIRECT_KINDS; i++)
		held += s->redirect_share[i].held;
	ASSERT(held == used);
}

static void check_ports(const struct turn_shard *s, uint32_t taken)
{
	uint32_t nb = 0;

	for (unsigned int is_v4 = 0; s->ports != NULL && is_v4 < 2; is_v4++)
		nb += relay_ports_all(s->ports, is_v4) - relay_ports_free(s->ports, is_v4);
	ASSERT(nb == (s->ports != NULL ? taken : 0));
	ASSERT(s->port_share[0].held + s->port_share[1].held == taken);
}

void turn_shard_check(struct turn_shard *s)
{
	struct held held = {0};
	uint32_t reserved = 0;

	for (uint32_t slot = 0; slot < s->nb_slots; slot++) {
		const enum alloc_state state = line_state(alloc_at(s, slot));
		const bool live = alloc_is_live(s, slot);

		ASSERT(live == bitset_has(&s->live, slot));
		ASSERT(live || state == ALLOC_FREE || state == ALLOC_RESERVED);
		ASSERT(wheel_armed(&s->wheel, slot) == (state != ALLOC_FREE));
		reserved += state == ALLOC_RESERVED;
		if (live)
			check_alloc(s, slot, &held);
	}
	check_redirects(s);
	check_ports(s, held.live + reserved);
	ASSERT(held.live == s->live.used && held.live == s->stats.allocations);
	for (unsigned int i = 0; i <= TURN_OVER_DTLS; i++)
		ASSERT(held.over[i] == s->stats.over[i]);
	ASSERT(held.permissions == pool_used(&s->permissions));
	ASSERT(held.channels == pool_used(&s->channels));
	ASSERT(held.beyond_permissions == s->permission_share.held);
	ASSERT(held.beyond_channels == s->channel_share.held);
#define X(type, field, size, init, round, check) check(s, held.live + reserved);
	TURN_PARTS(X)
#undef X
}
