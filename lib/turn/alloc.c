// SPDX-License-Identifier: BSD-3-Clause
// Making, refreshing and ending allocations; the client table.
#include "turn_int.h"

uint32_t alloc_lookup(const struct turn_shard *s, const struct turn_view *v)
{
	struct table_iter it = {0};
	uint32_t i;

	while (table_next(&s->clients, v->hash, &it, &i)) {
		const struct turn_line *l = alloc_at(s, i);

		if (addr_eq(&l->end[TURN_FROM_CLIENT], &v->src) &&
			((l->mark[TURN_FROM_CLIENT] ^ v->mark) & 0xffffff) == 0)
			return i;
	}
	return TURN_NONE;
}

void alloc_timer(struct turn_shard *s, uint32_t slot, uint64_t at_ms)
{
	if (!wheel_armed(&s->wheel, slot) || at_ms < s->wheel.node[slot].when_ms)
		wheel_set(&s->wheel, slot, at_ms);
}

bool client_insert(struct turn_shard *s, const struct turn_view *v, uint32_t index)
{
	if (!table_insert(&s->clients, v->hash, index))
		return false;
	s->epoch++;
	*alloc_at(s, index) = (struct turn_line){.end[TURN_FROM_CLIENT] = v->src,
		.mark[TURN_FROM_CLIENT] = line_mark(v->src_port, v->listener, ALLOC_FREE)};
	return true;
}

bool alloc_make(struct turn_shard *s, const struct turn_view *v, const struct alloc_new *n)
{
	struct turn_cold *c = cold_at(s, n->slot);
	struct turn_line *l = alloc_at(s, n->slot);
	uint16_t port;

	if (!client_insert(s, v, n->slot))
		return false;
	line_set_state(l, ALLOC_LIVE);
	l->mark[TURN_FROM_PEER] = turn_relay_locate(s->map, s->worker, n->slot, &port) << 16;
	l->relay_port = __builtin_bswap16(port);
	*c = (struct turn_cold){.expires_ms = s->now_ms + n->lifetime_s * UINT64_C(1000),
		.id = (uint64_t)s->worker << 56 | ++s->next_id,
		.cred = *n->cred,
		.quota = n->quota,
		.permissions = TURN_NONE,
		.channels = TURN_NONE,
		.via = v->via,
		.has_token = n->token != NULL,
		.live = (uint32_t)s->stats.allocations};
	memcpy(c->tid, n->tid, STUN_TID_LEN);
	if (n->token != NULL)
		memcpy(c->token, n->token, TURN_TOKEN_LEN);
	s->live[s->stats.allocations++] = n->slot;
	s->stats.allocations_total++;
	if (s->flow_made != NULL)
		s->flow_made(s->ctx, n->slot | FLOW_CLIENT);
	wheel_set(&s->wheel, n->slot, c->expires_ms);
	redirect_note(s, c->via, v, c->expires_ms);
	return true;
}

struct turn_view client_view(const struct turn_shard *s, uint32_t index)
{
	const struct turn_line *l = alloc_at(s, index);
	const struct addr *client = &l->end[TURN_FROM_CLIENT];
	const uint16_t port = line_port(l, TURN_FROM_CLIENT);

	return (struct turn_view){.src = *client,
		.src_port = port,
		.listener = line_listener(l),
		.hash = client_hash(s, client, port, line_listener(l))};
}

void alloc_refresh(struct turn_shard *s, uint32_t slot, uint32_t lifetime_s)
{
	struct turn_cold *c = cold_at(s, slot);
	const struct turn_view v = client_view(s, slot);

	c->expires_ms = s->now_ms + lifetime_s * UINT64_C(1000);
	alloc_timer(s, slot, c->expires_ms);
	alloc_copy_channel(s, slot);
	redirect_note(s, c->via, &v, c->expires_ms);
}

void alloc_end(struct turn_shard *s, uint32_t slot)
{
	struct turn_line *l = alloc_at(s, slot);
	struct turn_cold *c = cold_at(s, slot);
	const struct turn_view v = client_view(s, slot);
	const uint32_t last = s->live[s->stats.allocations - 1];

	peers_end(s, slot);
	table_remove(&s->clients, v.hash, slot);
	wheel_cancel(&s->wheel, slot);
	redirect_note(s, c->via, &v, 0);
	quota_give(s->quota, &c->quota);
	s->live[c->live] = last;
	cold_at(s, last)->live = c->live;
	s->stats.allocations--;
	// the ends stay: plans made earlier in the round name the line
	line_set_state(l, ALLOC_FREE);
	l->channel = 0;
	l->until = 0;
	ports_give(s->ports, slot, s->now_ms);
}
