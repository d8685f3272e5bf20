// SPDX-License-Identifier: BSD-3-Clause
// One worker's allocations: memory, clock, creation and end, expiry. There are no locks, because
// one lcore owns everything.
#include "shard.h"
#include "invariant.h"
#include "turn_blocks.h"
#include "turn_state.h"
#include "limits/stranger.h"
#include "relayed/relay_map.h"
#include "relayed/relayed.h"
#include "state/area.h"

#define LEADS 1024 // minimum number of redirects, and one per this number of slots:
#define LEADS_PART 40
// Objects per call: a round stays short, however many objects expire at once.
#define EXPIRE_BUDGET 64

// Divides the shard's memory into its arrays. If base is NULL, it only measures their size.
struct arena {
	uint8_t *base;
	size_t used;
};

static void *arena_take(struct arena *a, size_t len)
{
	void *p = a->base != NULL ? a->base + a->used : NULL;

	a->used += (len + 63) & ~(size_t)63;
	return p;
}

struct layout {
	struct turn_shard *s;
	struct turn_line *alloc;
	struct turn_cold *cold;
	struct usage *usage;
	struct turn_permission *permission;
	struct turn_channel *channel;
	uint8_t *channel_form;
#define X(type, field, enabled) type *field;
	TURN_ARRAYS(X)
#undef X
	struct wheel_node *node;
	void *clients, *ports, *live, *strangers, *refusals;
	void *permission_users, *channel_users, *port_users[2], *redirect_users[REDIRECT_KINDS];
	struct trie_links *redirect_links;
	struct turn_listener *listener;
	struct turn_pools pools;
	struct share permission_share, channel_share, redirect_share[REDIRECT_KINDS];
	uint32_t nb_slots, nb_permissions, nb_channels, nb_redirects;
#define X(type, field, size, init, round, check) void *field;
	TURN_PARTS(X)
#undef X
	size_t size;
};

// A worker's part of a number that is configured for all workers; fallback if the number is 0.
static uint32_t part_of(uint32_t whole, uint32_t workers, uint32_t fallback)
{
	return whole != 0 ? (whole + workers - 1) / workers : fallback;
}

struct turn_pools turn_shard_pools(const struct turn_shard_params *p)
{
	const struct turn_pools *c = &p->config->pools;
	const uint32_t slots = turn_relay_map_slots(p->map, p->worker), n = p->config->workers;

	return (struct turn_pools){
		.sure_permissions = c->sure_permissions != 0 ? c->sure_permissions : 2,
		.sure_channels = c->sure_channels != 0 ? c->sure_channels : 1,
		.permissions = part_of(c->permissions, n, slots),
		.channels = part_of(c->channels, n, slots),
		.per_user = policy_percent(p->config, c->per_user, 25),
#define X(field, name, enabled, bytes, most) \
	.field = p->config->enabled ? part_of(c->field, n, (most)*slots) : 0,
		TURN_CONFIG_POOLS(X)
#undef X
	};
}

// Room for clients whose allocations are made on other workers: because of a RESERVATION-TOKEN,
// because a state area was restored, or because there was no free port although all workers have
// about the same number of clients.
static uint32_t leads_of(const struct turn_shard_params *p, uint32_t slots)
{
	const uint32_t part = p->config->workers > 1 ? slots / LEADS_PART : 0;

	if (p->redirects != 0)
		return p->redirects + part;
	return part > LEADS ? part : LEADS;
}

// Ports are counted by family and user. Shared ports have both families; the counter of IPv6 counts
// them.
static size_t port_users_size(const struct turn_shard_params *p, bool is_v4, uint32_t slots)
{
	const bool is_used = relay_map_shares(p->map) ? !is_v4 : relay_map_ports(p->map, is_v4) > 0;

	return is_used ? share_size(slots) : 0;
}

// Room for redirects: of allocations made on other workers, and of the kinds that features make.
static void size_redirects(struct layout *l, const struct turn_shard_params *p)
{
	l->nb_redirects = leads_of(p, l->nb_slots);
	l->redirect_share[REDIRECT_LEADS] = share_part(0, l->nb_redirects, l->pools.per_user);
#define X(kind, enabled, number)                                                                   \
	if (p->config->enabled) {                                                                  \
		l->redirect_share[kind] =                                                          \
			share_part(0, part_of(p->config->number, p->config->workers, l->nb_slots), \
				l->pools.per_user);                                                \
		l->nb_redirects += share_records(&l->redirect_share[kind], 0);                     \
	}
	TURN_REDIRECTS(X)
#undef X
}

// Number of users whose redirects of a kind are counted.
static uint32_t users_of(const struct layout *l, unsigned int kind)
{
	return kind == REDIRECT_LEADS ? l->nb_redirects : l->nb_slots;
}

static struct layout layout_make(const struct turn_shard_params *p, void *mem)
{
	struct arena a = {.base = mem};
	struct layout l = {
		.nb_slots = turn_relay_map_slots(p->map, p->worker), .pools = turn_shard_pools(p)};

	l.permission_share =
		share_part(l.pools.sure_permissions, l.pools.permissions, l.pools.per_user);
	l.channel_share = share_part(l.pools.sure_channels, l.pools.channels, l.pools.per_user);
	l.nb_permissions = share_records(&l.permission_share, l.nb_slots);
	l.nb_channels = share_records(&l.channel_share, l.nb_slots);
	size_redirects(&l, p);

	l.s = arena_take(&a, sizeof(*l.s));
	l.alloc = arena_take(&a, sizeof(*l.alloc) * (l.nb_slots + l.nb_redirects));
	l.cold = arena_take(&a, sizeof(*l.cold) * l.nb_slots);
	if (p->state == NULL)
		l.usage = arena_take(&a, sizeof(*l.usage) * l.nb_slots);
	l.permission = arena_take(&a, sizeof(*l.permission) * l.nb_permissions);
	l.channel = arena_take(&a, sizeof(*l.channel) * l.nb_channels);
	l.channel_form = arena_take(&a, l.nb_channels);
#define X(type, field, enabled) \
	if (p->config->enabled) \
		l.field = arena_take(&a, sizeof(*l.field) * l.nb_slots);
	TURN_ARRAYS(X)
#undef X
	l.node = arena_take(&a, sizeof(*l.node) * (l.nb_slots + l.nb_redirects));
	l.clients = arena_take(&a, table_size(l.nb_slots + l.nb_redirects));
	if (!relay_map_shares(p->map))
		l.ports = arena_take(&a, relay_ports_size(p->map, p->worker));
#define X(type, field, size, init, round, check) \
	l.field = arena_take(&a, size(p, l.nb_permissions));
	TURN_PARTS(X)
#undef X
	l.strangers = arena_take(&a, stranger_size());
	l.refusals = arena_take(&a, refusals_size());
	l.permission_users = arena_take(&a, share_size(l.nb_slots));
	l.channel_users = arena_take(&a, share_size(l.nb_slots));
	for (unsigned int is_v4 = 0; is_v4 < 2; is_v4++)
		l.port_users[is_v4] = arena_take(&a, port_users_size(p, is_v4, l.nb_slots));
	for (unsigned int i = 0; i < REDIRECT_KINDS; i++)
		if (l.redirect_share[i].most > 0)
			l.redirect_users[i] = arena_take(&a, share_size(users_of(&l, i)));
	l.live = arena_take(&a, bitset_size(l.nb_slots));
	l.redirect_links = arena_take(&a, sizeof(*l.redirect_links) * l.nb_redirects);
	l.listener = arena_take(&a, sizeof(*l.listener) * p->config->nb_listeners);
	l.size = a.used;
	return l;
}

size_t turn_shard_size(const struct turn_shard_params *p)
{
	return layout_make(p, NULL).size;
}

static void shard_tables(struct turn_shard *s, const struct layout *l)
{
	s->alloc = l->alloc;
	s->cold = l->cold;
	s->usage = l->usage;
	s->permission = l->permission;
	s->channel = l->channel;
	s->channel_form = l->channel_form;
	s->listener = l->listener;
	s->nb_slots = l->nb_slots;
	s->nb_permissions = l->nb_permissions;
	s->nb_channels = l->nb_channels;
	s->nb_redirects = l->nb_redirects;
	table_init(&s->clients, l->clients, l->nb_slots + l->nb_redirects);
	bitset_init(&s->live, l->live, l->nb_slots);
	s->by_address = (struct trie){&l->permission->links, sizeof(*l->permission)};
	s->by_number = (struct trie){&l->channel->by_number, sizeof(*l->channel)};
	s->by_port = (struct trie){&l->channel->by_port, sizeof(*l->channel)};
	pool_init(
		&s->permissions, &l->permission->links, sizeof(*l->permission), l->nb_permissions);
	pool_init(&s->channels, &l->channel->by_number, sizeof(*l->channel), l->nb_channels);
	pool_init(&s->redirects, l->redirect_links, sizeof(*l->redirect_links), l->nb_redirects);
	s->permission_share = l->permission_share;
	s->channel_share = l->channel_share;
	for (unsigned int i = 0; i < REDIRECT_KINDS; i++) {
		s->redirect_share[i] = l->redirect_share[i];
		share_init(&s->redirect_share[i], l->redirect_users[i], users_of(l, i));
	}
	for (unsigned int i = 0; i < 2; i++) {
		s->port_share[i] = (struct share){.size = UINT32_MAX / 2, .most = UINT32_MAX / 2};
		share_init(&s->port_share[i], l->port_users[i], l->nb_slots);
	}
#define X(type, field, enabled) s->field = l->field;
	TURN_ARRAYS(X)
#undef X
	share_init(&s->permission_share, l->permission_users, l->nb_slots);
	share_init(&s->channel_share, l->channel_users, l->nb_slots);
}

static void take_policy(struct turn_shard *s, const struct turn_policy *p)
{
	s->policy = p;
	s->peers_asked =
		shard_shares_ports(s) || (policy_nb_realms(p) > 1 && p->relay_pools.nb_pools > 0);
}

struct turn_shard *turn_shard_create(void *mem, const struct turn_shard_params *p, uint64_t now_ms)
{
	const struct layout l = layout_make(p, mem);
	const struct relay_ports_memory ports = {l.ports, &l.cold->resting, sizeof(*l.cold)};
	struct turn_shard *s = l.s;

	s->map = p->map;
	s->worker = p->worker;
	csprng_bytes(p->rng, &s->key, sizeof(s->key));
	csprng_bytes(p->rng, &s->client_key, sizeof(s->client_key));
	if (p->client_key != NULL)
		s->client_key = *p->client_key;
	csprng_bytes(p->rng, &s->tids.key, sizeof(s->tids.key));
	shard_tables(s, &l);
	if (p->state != NULL)
		state_open(s, p->state);
	wheel_init(&s->wheel, l.node, l.nb_slots + l.nb_redirects, now_ms);
#define X(type, field, size, init, round, check) init(s, l.field, p);
	TURN_PARTS(X)
#undef X
	if (l.ports != NULL)
		s->ports = relay_ports_create(&ports, p->map, p->worker, p->rng);
	s->refusals = refusals_create(l.refusals, &s->key, p->event, p->ctx);
	for (uint32_t i = 0; i < p->config->nb_listeners; i++)
		s->listener[i] = p->config->listeners[i];
	s->nb_listeners = (uint8_t)p->config->nb_listeners;
	take_policy(s, p->policy);
	s->quota = p->quota;
#define X(type, field) s->field = p->field;
	TURN_CONFIG_SHARD_PARAMS(X)
#undef X
	s->crypto = p->crypto;
	s->rng = p->rng;
	s->workers = (uint8_t)p->config->workers;
	stranger_init(s, l.strangers);
	s->percent = (uint8_t)l.pools.per_user;
	relayed_tell(s);
	s->line_made = p->line_made;
	s->moved = p->moved;
	s->event = p->event;
	s->ctx = p->ctx;
	s->now_ms = now_ms;
	s->tick = (uint32_t)(now_ms / TURN_LINE_MS);
	return s;
}

// The time of a slot without an allocation is over.
static void slot_due(struct turn_shard *s, uint32_t slot)
{
#define X(state, type, field, due)                  \
	if (line_state(alloc_at(s, slot)) == state) \
		due(s, slot);
	TURN_SLOTS(X)
#undef X
}

void turn_shard_close(struct turn_shard *s)
{
	while (s->live.used > 0)
		alloc_end(s, bitset_nth(&s->live, 0), TURN_END_STOPPED);
	for (uint32_t slot = 0; slot < s->nb_slots; slot++)
		slot_due(s, slot);
	fold_flush(refusals_fold(s->refusals));
}

void turn_shard_keep(struct turn_shard *s)
{
	fold_flush(refusals_fold(s->refusals));
}

bool turn_shard_inside(
	const struct turn_shard *s, uint32_t slot, const struct addr *local, enum turn_inside kind)
{
	const struct turn_policy *p = alloc_policy(s, slot);

	return kind == TURN_INSIDE_RELAYED ? p->hairpin : policy_beside(p, local);
}

struct turn_line *turn_shard_lines(struct turn_shard *s)
{
	return s->alloc;
}

struct turn_tids *turn_shard_tids(struct turn_shard *s)
{
	return &s->tids;
}

void turn_shard_round(struct turn_shard *s, uint64_t now_ms, uint64_t wall_s)
{
	const uint32_t tick = (uint32_t)(now_ms / TURN_LINE_MS);

	if (__builtin_expect(tick - s->tick > LINE_STANDSTILL, 0))
		line_forget_all(s);
	s->now_ms = now_ms;
	s->tick = tick;
	s->wall_s = wall_s;
	pool_round(&s->permissions);
	pool_round(&s->channels);
	pool_round(&s->redirects);
	share_round(&s->permission_share);
	share_round(&s->channel_share);
	for (unsigned int i = 0; i < REDIRECT_KINDS; i++)
		share_round(&s->redirect_share[i]);
#define X(type, field, size, init, round, check) round(s);
	TURN_PARTS(X)
#undef X
}

void turn_shard_set_policy(struct turn_shard *s, const struct turn_policy *p)
{
	take_policy(s, p);
#define X(apply) apply(s);
	TURN_POLICIES(X)
#undef X
}

enum turn_drop turn_shard_refuses(const struct turn_shard *s, const struct addr *client)
{
	if (!turn_policy_serves(s->policy, client))
		return TURN_DROP_CLIENT_DENIED;
	return turn_blocks_addr(s->blocks, client) ? TURN_DROP_CLIENT_BLOCKED : TURN_OK;
}

void turn_shard_move(struct turn_shard *s, const struct turn_config *c)
{
	for (uint32_t i = 0; i < s->nb_listeners; i++)
		s->listener[i].endpoint = c->listeners[i].endpoint;
}

void turn_shard_set_intake(struct turn_shard *s, const struct turn_intake *i)
{
	s->intake = *i;
}

static uint32_t earlier_of(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

// Called when an allocation's timer fires: the allocation, or one of its permissions or channels,
// has expired. Returns the number of objects checked.
static unsigned int alloc_due(struct turn_shard *s, uint32_t slot)
{
	const struct turn_cold *c = cold_at(s, slot);
	const unsigned int objects = 1u + c->nb_permissions + c->nb_channels;
	const uint32_t left_ms = alloc_left(s, slot);
	uint32_t grace_ms = UINT32_MAX, next_ms;

#define X(left, count, end, is_away) grace_ms = earlier_of(grace_ms, left(s, slot));
	TURN_ALLOCATIONS(X)
#undef X
	if (left_ms == 0 || grace_ms == 0) {
		alloc_end(s, slot, left_ms == 0 ? TURN_END_EXPIRED : TURN_END_CONNECTION);
		return objects;
	}
	ASSERT(bitset_has(&s->live, slot));
	next_ms = peers_purge(s, slot);
	next_ms = earlier_of(next_ms, earlier_of(grace_ms, left_ms));
	line_copy_channel(s, slot);
	wheel_set(&s->wheel, slot, s->now_ms + next_ms);
	return objects;
}

static unsigned int timer_due(struct turn_shard *s, uint32_t index)
{
	switch (line_state(alloc_at(s, index))) {
	case ALLOC_LIVE:
#define X(state, begin, made, close, end) case state:
		TURN_KINDS(X)
#undef X
		return alloc_due(s, index);
	case ALLOC_REDIRECT:
		redirect_due(s, index);
		break;
#define X(state, find, due)    \
	case state:            \
		due(s, index); \
		break;
		TURN_LINES(X)
#undef X
	default:
		slot_due(s, index);
	}
	return 1;
}

bool turn_shard_expire(struct turn_shard *s)
{
	unsigned int spent = 0;
	uint32_t due;
	bool more;

	// one at a time: an allocation may have several hundred permissions and channels
	while (spent < EXPIRE_BUDGET && wheel_expire(&s->wheel, s->now_ms, &due, 1) == 1)
		spent += timer_due(s, due);
	more = fold_expire(refusals_fold(s->refusals), s->now_ms);
	more |= wheel_behind(&s->wheel, s->now_ms);
#define X(tick) more |= tick(s);
	TURN_TICKS(X)
#undef X
	return more;
}

uint64_t turn_shard_next_ms(const struct turn_shard *s)
{
	const uint64_t fold = fold_next_ms(refusals_fold(s->refusals)),
		       timer = wheel_next_ms(&s->wheel);

	return fold < timer ? fold : timer;
}

void turn_shard_stats(const struct turn_shard *s, struct turn_stats *out)
{
	*out = s->stats;
	out->permissions = pool_used(&s->permissions);
	out->channels = pool_used(&s->channels);
	out->redirects = pool_used(&s->redirects);
	for (unsigned int is_v4 = 0; s->ports != NULL && is_v4 < 2; is_v4++) {
		out->ports[is_v4] = relay_ports_all(s->ports, is_v4);
		out->ports_free[is_v4] = relay_ports_free(s->ports, is_v4);
	}
}

uint32_t turn_shard_client(const struct turn_shard *s, const struct turn_view *v, uint32_t *left_ms)
{
	struct turn_view hashed = *v;
	uint32_t slot, sibling;

	hashed.hash = shard_client_hash(s, &v->src, v->src_port, v->listener);
	slot = alloc_lookup(s, &hashed);
	if (slot == TURN_NONE || !alloc_is_live(s, slot))
		return TURN_NONE;
	slot = alloc_living(s, slot);
	if (slot == TURN_NONE)
		return TURN_NONE;
	sibling = alloc_sibling(s, slot);
	*left_ms = alloc_left(s, slot);
	if (sibling != TURN_NONE && alloc_left(s, sibling) > *left_ms)
		*left_ms = alloc_left(s, sibling);
	return slot;
}

uint32_t turn_shard_path(const struct turn_shard *s, const struct turn_view *v)
{
#define X(lost, ended, left) \
	if (left(s, v) > 0)  \
		return left(s, v);
	TURN_CONNECTIONS(X)
#undef X
	return 0;
}

void turn_shard_lost(struct turn_shard *s, const struct turn_view *v, uint32_t slot)
{
	bool outlives = false;

	if (slot == TURN_NONE) {
#define X(lost, ended, left) ended(s, v);
		TURN_CONNECTIONS(X)
#undef X
		return;
	}
#define X(lost, ended, left) outlives = outlives || lost(s, slot);
	TURN_CONNECTIONS(X)
#undef X
	if (!outlives)
		alloc_end_client(s, slot, TURN_END_CONNECTION);
}

uint32_t turn_shard_sibling(const struct turn_shard *s, uint32_t slot)
{
	return alloc_sibling(s, slot);
}
