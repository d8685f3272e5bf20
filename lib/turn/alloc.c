// SPDX-License-Identifier: BSD-3-Clause
// Makes, refreshes, pairs and ends allocations; keeps the client table.
#include "alloc.h"
#include "events/tell.h"
#include "invariant.h"
#include "relayed/relayed.h"
#include "shard.h"
#include "state/writer.h"
#include "usage.h"

#define END_COST 8 // of an allocation, and of each channel and permission that ends with it

uint32_t alloc_lookup(const struct turn_shard *s, const struct turn_view *v)
{
	struct table_iter it = {0};
	uint32_t i;

	while (table_next(&s->clients, v->hash, &it, &i)) {
		const struct turn_line *l = alloc_at(s, i);

		if (addr_eq(&l->end[TURN_FROM_CLIENT], &v->src) &&
			((l->mark[TURN_FROM_CLIENT] ^ v->mark) & TURN_MARK_CLIENT) == 0)
			return i;
	}
	return TURN_NONE;
}

void alloc_timer(struct turn_shard *s, uint32_t slot, uint64_t at_ms)
{
	wheel_set_sooner(&s->wheel, slot, at_ms);
}

uint8_t alloc_transport(const struct turn_shard *s, uint32_t slot)
{
	const uint8_t listener = line_listener(alloc_at(s, slot));

	return listener < s->nb_listeners ? s->listener[listener].transport : TURN_OVER_UDP;
}

static void line_begin(struct turn_shard *s, const struct turn_view *v, uint32_t index)
{
	*alloc_at(s, index) = (struct turn_line){.end[TURN_FROM_CLIENT] = v->src,
		.mark[TURN_FROM_CLIENT] = turn_mark_client(v->src_port, v->listener)};
}

bool alloc_client_insert(struct turn_shard *s, const struct turn_view *v, uint32_t index)
{
	ASSERT(line_state(alloc_at(s, index)) == ALLOC_FREE);
	ASSERT(alloc_lookup(s, v) == TURN_NONE); // a 5-tuple leads to one allocation
	if (!table_insert(&s->clients, v->hash, index))
		return false;
	s->epoch++;
	line_begin(s, v, index);
	return true;
}

uint32_t alloc_tid(const struct turn_shard *s, const uint8_t tid[STUN_TID_LEN])
{
	return (uint32_t)hash_bytes(&s->key, tid, STUN_TID_LEN);
}

uint32_t alloc_who(const struct turn_shard *s, const uint8_t ident[TURN_IDENT_LEN])
{
	return (uint32_t)hash_bytes(&s->key, ident, TURN_IDENT_LEN);
}

bool alloc_cred(const struct turn_shard *s, uint32_t slot, const uint8_t ident[TURN_IDENT_LEN],
	struct turn_cred *out)
{
	const struct turn_cold *c = cold_at(s, slot);

	if ((!alloc_has_key(s, slot) && !alloc_by_token(s, slot)) ||
		c->ident_hash != alloc_who(s, ident))
		return false;
	*out = (struct turn_cred){.alg = c->alg, .rest = c->rest};
	memcpy(out->ident, ident, TURN_IDENT_LEN);
	memcpy(out->mac, c->mac, sizeof(out->mac));
#define X(read, is_same, verify) read(c, out);
	TURN_STORED(X)
#undef X
	return true;
}

bool alloc_has_key(const struct turn_shard *s, uint32_t slot)
{
	const struct turn_cold *c = cold_at(s, slot);

	return c->rest || c->alg == CRED_KEY;
}

bool alloc_by_token(const struct turn_shard *s, uint32_t slot)
{
	return cred_alg_is_token(cold_at(s, slot)->alg);
}

uint32_t alloc_client_who(const struct turn_shard *s, uint32_t slot)
{
	const struct turn_cold *c = cold_at(s, slot);

	return c->is_second ? cold_at(s, c->sibling)->ident_hash : c->ident_hash;
}

bool alloc_is_of(
	const struct turn_shard *s, uint32_t slot, const struct turn_cred *cred, uint8_t realm)
{
	const bool token = cred_is_token(cred);

	return token == alloc_by_token(s, slot) &&
		(token || cold_at(s, slot)->ident_hash == alloc_who(s, cred->ident)) &&
		alloc_realm(s, slot) == realm;
}

bool alloc_is_of_far(
	const struct turn_shard *s, uint32_t slot, const struct turn_cred *cred, uint8_t realm)
{
	const struct turn_cold *c = cold_at(s, slot);

	if (!alloc_is_of(s, slot, cred, realm) || c->ident_hash != alloc_who(s, cred->ident))
		return false;
#define X(read, is_same, verify) \
	if (!is_same(c, cred))   \
		return false;
	TURN_STORED(X)
#undef X
	return true;
}

uint32_t alloc_number(const struct turn_shard *s, uint32_t slot)
{
	const uint32_t last = cold_at(s, slot)->made, before = s->state.numbers;

	return (last > before ? last : before) + 1;
}

uint64_t alloc_id(const struct turn_shard *s, uint32_t slot)
{
	// the worker in 6 bits, the slot in 26, the number in 32
	return (uint64_t)s->worker << 58 | (uint64_t)slot << 32 | cold_at(s, slot)->made;
}

static void cold_make(struct turn_shard *s, const struct turn_view *v, const struct alloc_new *n)
{
	struct turn_cold *c = cold_at(s, n->slot);

	*c = (struct turn_cold){.made = n->number != 0 ? n->number : alloc_number(s, n->slot),
		.via = v->via,
		.name_len = n->cred->name_len,
		.rfc8489 = n->cred->rfc8489,
		.alg = n->cred->alg,
		.rest = n->cred->rest,
		.quota_user = n->quota.user,
		.expires = (uint32_t)(s->now_ms + n->lifetime_ms),
		.tid = alloc_tid(s, n->tid),
		.ident_hash = alloc_who(s, n->cred->ident),
		.permissions = TURN_NONE,
		.channels = TURN_NONE};
	memcpy(c->mac, n->cred->mac, sizeof(c->mac));
	memcpy(c->name, n->cred->name, sizeof(c->name));
	usage_begin(s, n->slot, n->age_s);
}

static void line_make(struct turn_shard *s, uint32_t slot)
{
	struct turn_line *l = alloc_at(s, slot);
	uint16_t port;

	line_set_state(l, ALLOC_LIVE);
	l->mark[TURN_FROM_PEER] = relayed_locate(s, slot, &port) << 16;
	l->relay_port = __builtin_bswap16(port);
}

// Makes everything of an allocation except its entry in the table of clients; its line has begun.
static void make_slot(struct turn_shard *s, const struct turn_view *v, const struct alloc_new *n)
{
	const uint64_t expires_ms = s->now_ms + n->lifetime_ms;

	ASSERT(!bitset_has(&s->live, n->slot));
	ASSERT(!wheel_armed(&s->wheel, n->slot));
	if (n->kind == 0)
		line_make(s, n->slot);
#define X(state, begin, made, close, end) \
	if (n->kind == (state))           \
		begin(s, n->slot, n->port_index);
	TURN_KINDS(X)
#undef X
	cold_make(s, v, n);
	state_made(s, n, expires_ms);
	bitset_put(&s->live, n->slot, true);
	s->stats.allocations++;
	s->stats.allocations_total++;
	s->stats.over[alloc_transport(s, n->slot)]++;
	sums_made(s, n->slot);
#define X(state, begin, made, close, end) \
	if (n->kind == (state))           \
		made(s, n->slot);
	TURN_KINDS(X)
#undef X
	if (n->kind == 0 && s->line_made != NULL)
		s->line_made(s->ctx, n->slot);
	wheel_set(&s->wheel, n->slot, expires_ms);
	ASSERT(s->stats.allocations == s->live.used);
	ASSERT(alloc_is_live(s, n->slot) && alloc_is_tcp(s, n->slot) == (n->kind == ALLOC_TCP));
}

bool alloc_make(struct turn_shard *s, const struct turn_view *v, const struct alloc_new *n)
{
	if (!alloc_client_insert(s, v, n->slot))
		return false;
	make_slot(s, v, n);
	redirect_note(s, v->via, v, s->now_ms + n->lifetime_ms, n->quota.user);
	ASSERT(alloc_lookup(s, v) == n->slot);
	return true;
}

struct turn_view alloc_client_view(const struct turn_shard *s, uint32_t index)
{
	const struct turn_line *l = alloc_at(s, index);
	const struct addr *client = &l->end[TURN_FROM_CLIENT];
	const uint16_t port = line_port(l, TURN_FROM_CLIENT);

	return (struct turn_view){.src = *client,
		.src_port = port,
		.listener = line_listener(l),
		.hash = shard_client_hash(s, client, port, line_listener(l))};
}

// Tells the worker that holds a redirect to a client's allocations how long the last of them lives.
static void note_expiry(struct turn_shard *s, uint32_t slot)
{
	const struct turn_view v = alloc_client_view(s, slot);
	const uint32_t sibling = alloc_sibling(s, slot);
	uint32_t left_ms = alloc_left(s, slot);

	if (sibling != TURN_NONE && alloc_left(s, sibling) > left_ms)
		left_ms = alloc_left(s, sibling);
	redirect_note(
		s, cold_at(s, slot)->via, &v, s->now_ms + left_ms, cold_at(s, slot)->quota_user);
}

void alloc_refresh(struct turn_shard *s, uint32_t slot, uint32_t lifetime_s)
{
	const uint64_t expires_ms = s->now_ms + lifetime_s * UINT64_C(1000);

	ASSERT(bitset_has(&s->live, slot));
	cold_at(s, slot)->expires = (uint32_t)expires_ms;
	state_refreshed(s, slot, expires_ms);
	alloc_timer(s, slot, expires_ms);
	line_copy_channel(s, slot);
	note_expiry(s, slot);
	ASSERT(wheel_armed(&s->wheel, slot));
}

// --- dual allocations ----------------------------------------------------------------------------

// True if a slot is half of a dual allocation, and the other half agrees.
static inline bool pair_agrees(const struct turn_shard *s, uint32_t slot)
{
	const struct turn_cold *c = cold_at(s, slot), *sibling = cold_at(s, c->sibling);
	const struct turn_line *l = alloc_at(s, slot), *pair = alloc_at(s, c->sibling);

	return c->is_dual && sibling->is_dual && sibling->sibling == slot &&
		c->is_second != sibling->is_second && c->via == sibling->via &&
		addr_eq(&l->end[TURN_FROM_CLIENT], &pair->end[TURN_FROM_CLIENT]) &&
		l->mark[TURN_FROM_CLIENT] == pair->mark[TURN_FROM_CLIENT];
}

void alloc_join(struct turn_shard *s, uint32_t first, const struct alloc_new *n)
{
	struct turn_cold *a = cold_at(s, first), *b = cold_at(s, n->slot);
	struct turn_view v = alloc_client_view(s, first);

	ASSERT(line_state(alloc_at(s, first)) == ALLOC_LIVE);
	ASSERT(!a->is_dual && !a->is_second && first != n->slot);
	v.via = a->via;
	line_begin(s, &v, n->slot);
	make_slot(s, &v, n);
	b->ident_hash = a->tid;
	b->is_second = true;
	a->sibling = n->slot;
	b->sibling = first;
	a->is_dual = b->is_dual = true;
	state_joined(s, first);
	state_joined(s, n->slot);
	note_expiry(s, first);
	ASSERT(pair_agrees(s, first) && pair_agrees(s, n->slot));
	ASSERT(alloc_is_v4(s, first) != alloc_is_v4(s, n->slot));
}

void alloc_put_first(struct turn_shard *s, uint32_t slot)
{
	const struct turn_view v = alloc_client_view(s, slot);
	struct turn_cold *c = cold_at(s, slot), *sibling;
	const uint32_t tid = c->ident_hash;

	if (!c->is_second)
		return;
	ASSERT(pair_agrees(s, slot));
	if (table_remove(&s->clients, v.hash, c->sibling)) {
		const bool put = table_insert(&s->clients, v.hash, slot); // there is room now

		ASSERT(put);
	}
	s->epoch++;
	sibling = cold_at(s, c->sibling);
	c->ident_hash = sibling->ident_hash;
	sibling->ident_hash = tid;
	c->is_second = false;
	sibling->is_second = true;
	ASSERT(pair_agrees(s, slot));
}

// Makes the sibling of an ending allocation the client's only one.
static void leave_sibling(struct turn_shard *s, uint32_t slot)
{
	struct turn_cold *c = cold_at(s, slot), *sibling = cold_at(s, c->sibling);

	ASSERT(pair_agrees(s, slot));
	alloc_put_first(s, c->sibling);
	sibling->tid = c->ident_hash;
	sibling->is_dual = c->is_dual = c->is_second = false;
	ASSERT(!sibling->is_second && bitset_has(&s->live, c->sibling));
}

void alloc_end_client(struct turn_shard *s, uint32_t slot, enum turn_end reason)
{
	const uint32_t sibling = alloc_sibling(s, slot);

	alloc_end(s, slot, reason);
	if (sibling != TURN_NONE)
		alloc_end(s, sibling, reason);
}

uint32_t alloc_sweep(struct turn_shard *s, uint32_t slot)
{
	const uint32_t sibling = alloc_sibling(s, slot);

	if (sibling != TURN_NONE && alloc_left(s, sibling) == 0)
		alloc_end(s, sibling, TURN_END_EXPIRED);
	if (alloc_left(s, slot) == 0) {
		alloc_end(s, slot, TURN_END_EXPIRED);
		return sibling != TURN_NONE && line_state(alloc_at(s, sibling)) == ALLOC_LIVE
			? sibling
			: TURN_NONE;
	}
	return cold_at(s, slot)->is_second ? sibling : slot;
}

// --- clients that move ---------------------------------------------------------------------------

static uint32_t first_of(const struct turn_shard *s, uint32_t slot)
{
	return cold_at(s, slot)->is_second ? cold_at(s, slot)->sibling : slot;
}

void alloc_unlist(struct turn_shard *s, uint32_t slot)
{
	const uint32_t first = first_of(s, slot), second = alloc_sibling(s, first);
	const struct turn_view v = alloc_client_view(s, first);

	ASSERT(!cold_at(s, first)->is_second && bitset_has(&s->live, first));
	table_remove(&s->clients, v.hash, first);
	redirect_gone(s, cold_at(s, first)->via, &v);
	ASSERT(alloc_lookup(s, &v) == TURN_NONE);
	cold_at(s, first)->via = TURN_NO_WORKER;
	if (second != TURN_NONE)
		cold_at(s, second)->via = TURN_NO_WORKER;
}

static void move_one(struct turn_shard *s, uint32_t slot, const struct turn_view *v)
{
	struct turn_line *l = alloc_at(s, slot);

	ASSERT(line_state(l) == ALLOC_LIVE);
	s->stats.over[alloc_transport(s, slot)]--;
	l->end[TURN_FROM_CLIENT] = v->src;
	l->mark[TURN_FROM_CLIENT] =
		turn_mark_with_state(turn_mark_client(v->src_port, v->listener), ALLOC_LIVE);
	s->stats.over[alloc_transport(s, slot)]++;
	l->hop[TURN_FROM_CLIENT] = 0;
	cold_at(s, slot)->via = v->via;
	state_moved(s, slot);
	if (s->line_made != NULL)
		s->line_made(s->ctx, slot);
}

void alloc_move(struct turn_shard *s, uint32_t slot, const struct turn_view *v)
{
	const uint32_t first = first_of(s, slot), second = alloc_sibling(s, first);
	bool put;

	alloc_unlist(s, first);
	ASSERT(alloc_lookup(s, v) == TURN_NONE);
	put = table_insert(&s->clients, v->hash, first);
	ASSERT(put);
	s->epoch++;
	move_one(s, first, v);
	if (second != TURN_NONE)
		move_one(s, second, v);
	note_expiry(s, first);
	ASSERT(second == TURN_NONE || pair_agrees(s, first));
	ASSERT(alloc_lookup(s, v) == first);
}

// -------------------------------------------------------------------------------------------------

struct quota_ref alloc_quota(const struct turn_shard *s, uint32_t slot)
{
	struct quota_ref ref = {cold_at(s, slot)->quota_user,
		quota_source(&alloc_at(s, slot)->end[TURN_FROM_CLIENT])};

#define X(left, count, end, is_away) count(s, slot, &ref);
	TURN_ALLOCATIONS(X)
#undef X
	return ref;
}

unsigned int alloc_end_cost(const struct turn_shard *s, uint32_t slot)
{
	const struct turn_cold *c = cold_at(s, slot);

	return END_COST * (1u + c->nb_channels + c->nb_permissions);
}

void alloc_end(struct turn_shard *s, uint32_t slot, enum turn_end reason)
{
	struct turn_line *l = alloc_at(s, slot);
	const struct turn_cold *c = cold_at(s, slot);
	const struct turn_view v = alloc_client_view(s, slot);
	const struct quota_ref quota = alloc_quota(s, slot);
	const uint32_t sibling = alloc_sibling(s, slot);

	ASSERT(bitset_has(&s->live, slot));
	ASSERT(alloc_is_live(s, slot));
	ASSERT(s->stats.allocations == s->live.used);
	state_ended(s, slot);
#define X(state, begin, made, close, end) \
	if (line_state(l) == (state))     \
		close(s, slot);
	TURN_KINDS(X)
#undef X
	tell_ended(s, slot, reason);
	peers_end(s, slot);
	wheel_cancel(&s->wheel, slot);
#define X(left, count, end, is_away) end(s, slot);
	TURN_ALLOCATIONS(X)
#undef X
	if (sibling != TURN_NONE) {
		leave_sibling(s, slot);
		note_expiry(s, sibling);
	} else {
		table_remove(&s->clients, v.hash, slot);
		redirect_gone(s, c->via, &v);
	}
	quota_give(s->quota, &quota);
	bitset_put(&s->live, slot, false);
	s->stats.allocations--;
	s->stats.over[alloc_transport(s, slot)]--;
#define X(state, begin, made, close, end) \
	if (line_state(l) == (state))     \
		end(s, slot, quota.user);
	TURN_KINDS(X)
#undef X
	line_set_state(l, ALLOC_FREE);
	l->channel = 0;
	l->until = 0;
	ASSERT(!wheel_armed(&s->wheel, slot) && !bitset_has(&s->live, slot));
	ASSERT(s->stats.allocations == s->live.used);
	ASSERT(c->channels == TURN_NONE && c->permissions == TURN_NONE);
	ASSERT(sibling != TURN_NONE || alloc_lookup(s, &v) != slot);
	relayed_give(s, slot, quota.user);
}
