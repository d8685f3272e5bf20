// SPDX-License-Identifier: BSD-3-Clause
// What leads to an allocation from elsewhere: reservations (the odd port of an EVEN-PORT pair,
// found by token) and redirects (a client whose allocation lives on another worker than its home).
#include "turn_int.h"

static uint64_t token_hash(const struct turn_shard *s, const uint8_t token[TURN_TOKEN_LEN])
{
	struct addr a = {.d = {0, 0}};

	memcpy(a.b, token, TURN_TOKEN_LEN);
	return hash_addr(&s->key, &a, UINT64_C(3) << 62);
}

bool reservation_make(struct turn_shard *s, uint32_t slot, const struct quota_ref *quota,
	uint8_t token[TURN_TOKEN_LEN])
{
	struct turn_cold *c = cold_at(s, slot);

	// The first byte leads any worker to this one; 56 bits cannot be guessed within a minute.
	csprng_bytes(s->rng, token, TURN_TOKEN_LEN);
	token[0] = s->worker;
	if (!table_insert(&s->records, token_hash(s, token), slot | RECORD_RESERVATION))
		return false;
	c->quota = *quota;
	memcpy(c->token, token, TURN_TOKEN_LEN);
	c->expires_ms = s->now_ms + TURN_RESERVATION_MS;
	*alloc_at(s, slot) = (struct turn_line){0};
	line_set_state(alloc_at(s, slot), ALLOC_RESERVED);
	wheel_set(&s->wheel, slot, c->expires_ms);
	return true;
}

uint32_t reservation_find(const struct turn_shard *s, const uint8_t token[TURN_TOKEN_LEN])
{
	const uint64_t hash = token_hash(s, token);
	struct table_iter it = {0};
	uint32_t i;

	while (table_next(&s->records, hash, &it, &i)) {
		const uint32_t slot = i & ~RECORD_KIND;

		if ((i & RECORD_KIND) == RECORD_RESERVATION &&
			stun_equal(cold_at(s, slot)->token, token, TURN_TOKEN_LEN))
			return cold_at(s, slot)->expires_ms > s->now_ms ? slot : TURN_NONE;
	}
	return TURN_NONE;
}

void reservation_take(struct turn_shard *s, uint32_t slot)
{
	table_remove(
		&s->records, token_hash(s, cold_at(s, slot)->token), slot | RECORD_RESERVATION);
	wheel_cancel(&s->wheel, slot);
	line_set_state(alloc_at(s, slot), ALLOC_FREE);
}

void reservation_end(struct turn_shard *s, uint32_t slot)
{
	reservation_take(s, slot);
	quota_give(s->quota, &cold_at(s, slot)->quota);
}

void reservation_lapse(struct turn_shard *s, uint32_t slot)
{
	reservation_end(s, slot);
	ports_give(s->ports, slot, s->now_ms);
}

bool redirect_make(struct turn_shard *s, const struct turn_view *v, uint8_t worker)
{
	const uint32_t r = pool_take(&s->redirects);
	const uint32_t index = s->nb_slots + r;

	if (r == TURN_NONE)
		return false;
	if (!client_insert(s, v, index)) {
		pool_give(&s->redirects, r);
		return false;
	}
	line_set_state(alloc_at(s, index), ALLOC_REDIRECT);
	alloc_at(s, index)->channel = worker;
	*redirect_until(alloc_at(s, index)) = s->now_ms + TURN_REDIRECT_PENDING_MS;
	wheel_set(&s->wheel, index, s->now_ms + TURN_REDIRECT_PENDING_MS);
	return true;
}

void redirect_end(struct turn_shard *s, uint32_t index)
{
	table_remove(&s->clients, client_view(s, index).hash, index);
	wheel_cancel(&s->wheel, index);
	line_set_state(alloc_at(s, index), ALLOC_FREE);
	pool_give(&s->redirects, index - s->nb_slots);
}

void redirect_due(struct turn_shard *s, uint32_t index)
{
	const uint64_t until_ms = *redirect_until(alloc_at(s, index));

	if (until_ms <= s->now_ms)
		redirect_end(s, index);
	else
		wheel_set(&s->wheel, index, until_ms);
}

void redirect_note(struct turn_shard *s, uint8_t via, const struct turn_view *v, uint64_t until_ms)
{
	// Drained after every chunk and every expiry, so there is always room.
	if (via == TURN_NO_WORKER || s->nb_notes == TURN_NOTES_MAX)
		return;
	s->note[s->nb_notes++] = (struct turn_redirect_note){.client = {v->src, v->src_port},
		.listener = v->listener,
		.to = via,
		.until_ms = until_ms};
}

unsigned int turn_shard_notes(
	struct turn_shard *s, struct turn_redirect_note *out, unsigned int max)
{
	const unsigned int n = s->nb_notes < max ? s->nb_notes : max;

	if (n == 0)
		return 0;
	memcpy(out, s->note, n * sizeof(*out));
	s->nb_notes -= n;
	memmove(s->note, s->note + n, s->nb_notes * sizeof(*out));
	return n;
}

void turn_shard_redirect(struct turn_shard *s, const struct turn_redirect_note *note)
{
	const struct turn_view v = {.src = note->client.addr,
		.src_port = note->client.port,
		.listener = note->listener,
		.hash = client_hash(s, &note->client.addr, note->client.port, note->listener)};
	const uint32_t i = alloc_lookup(s, &v);

	if (i == TURN_NONE || line_state(alloc_at(s, i)) != ALLOC_REDIRECT)
		return;
	if (note->until_ms == 0)
		redirect_end(s, i);
	else
		*redirect_until(alloc_at(s, i)) = note->until_ms;
}
