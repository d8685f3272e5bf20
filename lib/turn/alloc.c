// SPDX-License-Identifier: BSD-3-Clause
// Making, refreshing and ending allocations; the client table.
#include "turn_int.h"

uint32_t alloc_lookup(const struct turn_shard *s, const struct turn_view *v)
{
	struct table_iter it = {0};
	uint32_t i;

	while (table_next(&s->clients, v->hash, &it, &i)) {
		const struct turn_alloc *a = alloc_at(s, i);

		if (addr_eq(&a->client, &v->src) && a->client_port == v->src_port &&
			a->listener == v->listener)
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
	struct turn_alloc *a = alloc_at(s, index);

	if (!table_insert(&s->clients, v->hash, index))
		return false;
	s->epoch++;
	*a = (struct turn_alloc){.client = v->src,
		.client_port = v->src_port,
		.listener = v->listener,
		.record = TURN_NONE};
	return true;
}

bool alloc_make(struct turn_shard *s, const struct turn_view *v, const struct alloc_new *n)
{
	struct turn_cold *c = cold_at(s, n->slot);

	if (!client_insert(s, v, n->slot))
		return false;
	alloc_at(s, n->slot)->state = ALLOC_LIVE;
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
	if (s->flow_reset != NULL)
		s->flow_reset(s->ctx, n->slot);
	wheel_set(&s->wheel, n->slot, c->expires_ms);
	redirect_note(s, c->via, v, c->expires_ms);
	return true;
}

struct turn_view client_view(const struct turn_shard *s, uint32_t index)
{
	const struct turn_alloc *a = alloc_at(s, index);

	return (struct turn_view){.src = a->client,
		.src_port = a->client_port,
		.listener = a->listener,
		.hash = client_hash(s, &a->client, a->client_port, a->listener)};
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
	struct turn_alloc *a = alloc_at(s, slot);
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
	a->state = ALLOC_FREE;
	a->channel = 0;
	ports_give(s->ports, slot, s->now_ms);
}
