// SPDX-License-Identifier: BSD-3-Clause
// Relayed transport addresses that all allocations share. An allocation is found by the address of
// the peer, which it must register first: by a channel, or by the first Send. Two allocations on
// one shared address cannot have the same peer, because the peer's datagrams could belong to
// either.
#include "features/shared/shared.h"
#include "invariant.h"
#include "relayed/relay_map.h"
#include "shard.h"
#include "state/writer.h"

// --- memory -------------------------------------------------------------------------------------

// Numbers of records, and the share of endpoints.
struct sizes {
	uint32_t addresses, slots, permissions, endpoints;
	struct share share;
};

static struct sizes sizes_of(const struct turn_shard_params *p, uint32_t permissions)
{
	const struct shared_map *map = relay_map_shared(p->map);
	const struct turn_pools pools = turn_shard_pools(p);
	struct sizes l = {.addresses = shared_map_count(map, p->worker),
		.slots = turn_relay_map_slots(p->map, p->worker),
		.permissions = permissions,
		.share = share_part(pools.sure_permissions, pools.endpoints, pools.per_user)};

	l.endpoints = share_records(&l.share, l.slots);
	return l;
}

struct parts {
	size_t address, slot, endpoint, of_permission, users, holdings, table, size;
};

static size_t take_part(size_t *used, size_t len)
{
	const size_t offset = *used;

	*used += (len + 63) & ~(size_t)63;
	return offset;
}

static struct parts parts_of(const struct sizes *l)
{
	struct parts p = {0};

	p.address = take_part(&p.size, sizeof(struct shared_address) * l->addresses);
	p.slot = take_part(&p.size, sizeof(struct shared_slot) * l->slots);
	p.endpoint = take_part(&p.size, sizeof(struct shared_endpoint) * l->endpoints);
	p.of_permission = take_part(&p.size, sizeof(uint32_t) * l->permissions);
	p.users = take_part(&p.size, share_size(l->slots));
	p.holdings = take_part(&p.size, holdings_size(l->endpoints));
	p.table = take_part(&p.size, table_size(l->endpoints));
	return p;
}

size_t shared_size(const struct turn_shard_params *p, uint32_t permissions)
{
	struct sizes l;

	if (relay_map_shared(p->map) == NULL)
		return 0;
	l = sizes_of(p, permissions);
	return parts_of(&l).size;
}

uint32_t shared_records(const struct turn_shard_params *p)
{
	return relay_map_shared(p->map) != NULL ? sizes_of(p, 0).endpoints : 0;
}

void shared_init(struct turn_shard *s, void *mem, const struct turn_shard_params *p)
{
	const struct shared_map *map = relay_map_shared(s->map);
	struct shared *h = &s->shared;
	uint8_t *base = mem;
	struct parts parts;
	struct sizes l;

	if (map == NULL)
		return;
	l = sizes_of(p, s->nb_permissions);
	parts = parts_of(&l);
	h->nb = l.addresses;
	h->address = (struct shared_address *)(base + parts.address);
	h->slot = (struct shared_slot *)(base + parts.slot);
	h->endpoint = (struct shared_endpoint *)(base + parts.endpoint);
	h->of_permission = (uint32_t *)(base + parts.of_permission);
	table_init(&h->table, base + parts.table, l.endpoints);
	h->share = l.share;
	share_init(&h->share, base + parts.users, l.slots);
	holdings_init(&h->holdings, base + parts.holdings, l.endpoints);
	pool_init(&h->slots, &h->slot->links, sizeof(*h->slot), l.slots);
	pool_init(&h->endpoints, &h->endpoint->links, sizeof(*h->endpoint), l.endpoints);
	for (uint32_t i = 0; i < h->nb; i++) {
		h->address[i].relayed = shared_map_relayed(map, s->worker, i);
		h->nb_family[h->address[i].relayed.is_v4]++;
	}
}

void shared_round(struct turn_shard *s)
{
	share_round(&s->shared.share);
	pool_round(&s->shared.slots);
	pool_round(&s->shared.endpoints);
}

#ifdef SLIPRING_ASSERTS
void shared_check(struct turn_shard *s, uint32_t taken)
{
	const struct shared *h = &s->shared;
	uint32_t endpoints = 0;

	ASSERT(s->stats.endpoints == pool_used(&h->endpoints));
	if (h->nb == 0)
		return;
	for (uint32_t slot = 0; slot < s->nb_slots; slot++)
		endpoints += h->slot[slot].endpoints;
	ASSERT(endpoints == pool_used(&h->endpoints));
	ASSERT(pool_used(&h->slots) == taken);
}
#endif

// --- endpoints ----------------------------------------------------------------------------------

static uint64_t endpoint_hash(
	const struct turn_shard *s, uint32_t number, const struct addr *peer, uint16_t port)
{
	return hash_addr(&s->key, peer, (uint64_t)number << 16 | port);
}

static uint32_t endpoint_find(const struct turn_shard *s, uint64_t hash, uint32_t number,
	const struct addr *peer, uint16_t port)
{
	struct table_iter it = {0};
	uint32_t i;

	while (table_next(&s->shared.table, hash, &it, &i)) {
		const struct shared_endpoint *e = &s->shared.endpoint[i];

		if (addr_eq(&e->addr, peer) && e->port == port && e->number == number)
			return i;
	}
	return TURN_NONE;
}

uint32_t shared_slot_of(const struct turn_shard *s, const struct turn_view *v)
{
	const uint32_t i = endpoint_find(s, v->hash, v->shared, &v->src, v->src_port);

	return i != TURN_NONE ? s->shared.endpoint[i].slot : TURN_NONE;
}

uint32_t shared_find(const struct turn_shard *s, uint32_t number, const struct endpoint *peer)
{
	const uint64_t hash = endpoint_hash(s, number, &peer->addr, peer->port);
	const uint32_t i = endpoint_find(s, hash, number, &peer->addr, peer->port);

	return i != TURN_NONE ? s->shared.endpoint[i].slot : TURN_NONE;
}

void shared_look_up(struct turn_shard *s, struct turn_burst *b)
{
	const struct shared *h = &s->shared;
	struct turn_view *peers[TURN_BURST];
	unsigned int nb = 0;

	for (unsigned int i = 0; i < b->n; i++) {
		struct turn_view *v = &b->view[i];

		if (v->leg != TURN_FROM_PEER)
			continue;
		peers[nb++] = v;
		v->shared = v->slot;
		v->hash = endpoint_hash(s, v->shared, &v->src, v->src_port);
		table_prefetch(&h->table, v->hash);
	}
	for (unsigned int i = 0; i < nb; i++) {
		const uint32_t guess = table_guess(&h->table,
			table_first(&h->table, peers[i]->hash), peers[i]->hash, TURN_NONE);

		if (guess != TURN_NONE)
			__builtin_prefetch(&h->endpoint[guess]);
	}
	// verified here, because a line does not tell to which shared address it belongs
	for (unsigned int i = 0; i < nb; i++) {
		struct turn_view *v = peers[i];

		v->slot = shared_slot_of(s, v);
		if (v->slot != TURN_NONE)
			__builtin_prefetch(alloc_at(s, v->slot), 1);
	}
}

// Ends an expired allocation; else frees its expired permissions and channels. The timer may not
// have ended them yet.
static void settle_alloc(struct turn_shard *s, uint32_t slot)
{
	if (alloc_left(s, slot) == 0)
		alloc_end(s, slot, TURN_END_EXPIRED);
	else
		peers_settle(s, slot);
}

// Hash of an allocation's user and a peer: counts the addresses on which that user has that peer.
static uint64_t who_has(
	const struct turn_shard *s, uint32_t slot, const struct addr *peer, uint16_t port)
{
	return hash_addr(&s->key, peer, cold_at(s, slot)->quota_user ^ (uint64_t)port << 48);
}

// Maximum number of addresses on which a user may have one peer. A user with an allocation on every
// address could otherwise lock all others out from a conference server.
static uint32_t peers_most(const struct turn_shard *s, uint32_t slot)
{
	const uint32_t nb = s->shared.nb_family[alloc_is_v4(s, slot)];

	return (uint32_t)(((uint64_t)nb * s->policy->shared_share + 99) / 100);
}

enum shared_answer shared_ask(struct turn_shard *s, uint32_t slot, const struct endpoint *peer)
{
	const struct shared_slot *mine = &s->shared.slot[slot];
	const uint64_t hash = endpoint_hash(s, mine->number, &peer->addr, peer->port);
	uint32_t i = endpoint_find(s, hash, mine->number, &peer->addr, peer->port);

	if (i != TURN_NONE && s->shared.endpoint[i].slot != slot) {
		settle_alloc(s, s->shared.endpoint[i].slot);
		i = endpoint_find(s, hash, mine->number, &peer->addr, peer->port);
	}
	if (i != TURN_NONE)
		return s->shared.endpoint[i].slot == slot ? SHARED_OURS : SHARED_COLLISION;
	if (mine->endpoints >= s->policy->shared_peers ||
		!share_allows(s, &s->shared.share, slot, mine->endpoints, 1))
		return SHARED_FULL;
	if (holdings_count(&s->shared.holdings, who_has(s, slot, &peer->addr, peer->port)) >=
		peers_most(s, slot))
		return SHARED_SHARE;
	return SHARED_FREE;
}

// True if the counts of registered endpoints agree.
static inline bool counts_agree(const struct shared *h, uint32_t slot)
{
	const uint32_t used = pool_used(&h->endpoints);
	const uint32_t mine = h->slot[slot].endpoints;

	return h->table.used == used && mine <= h->address[h->slot[slot].number].endpoints &&
		h->address[h->slot[slot].number].endpoints <= used &&
		h->holdings.table.used <= used;
}

uint32_t shared_register(struct turn_shard *s, uint32_t slot, const struct endpoint *peer)
{
	struct shared *h = &s->shared;
	const uint64_t holder_hash = who_has(s, slot, &peer->addr, peer->port);
	const uint16_t number = h->slot[slot].number;
	const uint32_t i = pool_take(&h->endpoints);

	if (i == TURN_NONE)
		return TURN_NONE;
	if (!holdings_add(&h->holdings, holder_hash)) {
		pool_give(&h->endpoints, i);
		return TURN_NONE;
	}
	if (!table_insert(&h->table, endpoint_hash(s, number, &peer->addr, peer->port), i)) {
		holdings_remove(&h->holdings, holder_hash);
		pool_give(&h->endpoints, i);
		return TURN_NONE;
	}
	share_take(&h->share, cold_at(s, slot)->quota_user, h->slot[slot].endpoints);
	h->endpoint[i] = (struct shared_endpoint){
		.addr = peer->addr, .port = peer->port, .number = number, .slot = slot};
	h->slot[slot].endpoints++;
	h->address[number].endpoints++;
	s->stats.endpoints++;
	ASSERT(counts_agree(h, slot));
	return i;
}

void shared_keep(struct turn_shard *s, uint32_t endpoint)
{
	struct shared_endpoint *e = &s->shared.endpoint[endpoint];
	const uint32_t permission = peers_permission_find(s, e->slot, &e->addr);
	uint32_t *head = &s->shared.of_permission[permission];

	ASSERT(permission != TURN_NONE);
	ASSERT(*head == 0 || s->shared.endpoint[*head - 1].slot == e->slot);
	state_endpoint(s, endpoint, e->slot, permission, e->port);
	e->links.child[0] = *head;
	*head = endpoint + 1;
}

void shared_withdraw(struct turn_shard *s, uint32_t endpoint)
{
	struct shared *h = &s->shared;
	const struct shared_endpoint *e = &h->endpoint[endpoint];

	ASSERT(h->slot[e->slot].endpoints > 0 && h->slot[e->slot].number == e->number);
	state_endpoint_gone(s, endpoint);
	share_give(&h->share, cold_at(s, e->slot)->quota_user, h->slot[e->slot].endpoints);
	holdings_remove(&h->holdings, who_has(s, e->slot, &e->addr, e->port));
	table_remove(&h->table, endpoint_hash(s, e->number, &e->addr, e->port), endpoint);
	h->slot[e->slot].endpoints--;
	h->address[e->number].endpoints--;
	s->stats.endpoints--;
	pool_give(&h->endpoints, endpoint);
	ASSERT(counts_agree(h, e->slot));
}

void shared_forget(struct turn_shard *s, uint32_t permission)
{
	uint32_t i, next;

	for (i = s->shared.of_permission[permission]; i != 0; i = next) {
		next = s->shared.endpoint[i - 1].links.child[0];
		shared_withdraw(s, i - 1);
	}
	s->shared.of_permission[permission] = 0;
}
