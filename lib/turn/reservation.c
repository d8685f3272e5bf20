// SPDX-License-Identifier: BSD-3-Clause
// What leads to an allocation from elsewhere: reservations (the odd port of an EVEN-PORT pair,
// found by token) and redirects (a client whose allocation lives on another worker than its home).
#include "turn_int.h"

// Head of the chain of a token.
static uint32_t *chain_of(const struct turn_shard *s, const uint8_t token[TURN_TOKEN_LEN])
{
	const uint64_t hash = hash_bytes(&s->key, token, TURN_TOKEN_LEN);

	return &s->reserved[(uint64_t)(uint32_t)hash * s->nb_reserved >> 32];
}

bool reservation_token(
	const struct turn_shard *s, uint32_t slot, uint32_t made, uint8_t token[TURN_TOKEN_LEN])
{
	uint8_t text[8], mac[32];

	store_be32(text, slot);
	store_be32(text + 4, made);
	if (!stun_hmac_sha256(
		    s->crypto, s->token_key, sizeof(s->token_key), text, sizeof(text), mac))
		return false;
	// The first byte leads any worker to this one; 56 bits cannot be guessed within a minute.
	memcpy(token, mac, TURN_TOKEN_LEN);
	token[0] = s->worker;
	return true;
}

bool reservation_make(struct turn_shard *s, uint32_t slot, const struct quota_ref *quota)
{
	struct turn_cold *c = cold_at(s, slot);
	uint8_t token[TURN_TOKEN_LEN];
	uint32_t *head;

	if (!reservation_token(s, slot - 1, cold_at(s, slot - 1)->made + 1, token))
		return false;
	head = chain_of(s, token);
	c->reserved.quota = *quota;
	c->reserved.until = (uint32_t)(s->now_ms + TURN_RESERVATION_MS);
	c->reserved.next = *head;
	memcpy(c->reserved.token, token, TURN_TOKEN_LEN);
	*head = slot;
	*alloc_at(s, slot) = (struct turn_line){0};
	line_set_state(alloc_at(s, slot), ALLOC_RESERVED);
	wheel_set(&s->wheel, slot, s->now_ms + TURN_RESERVATION_MS);
	return true;
}

uint32_t reservation_find(const struct turn_shard *s, const uint8_t token[TURN_TOKEN_LEN])
{
	uint32_t slot = *chain_of(s, token);

	while (slot != TURN_NONE &&
		!stun_equal(cold_at(s, slot)->reserved.token, token, TURN_TOKEN_LEN))
		slot = cold_at(s, slot)->reserved.next;
	if (slot == TURN_NONE || ms_left(cold_at(s, slot)->reserved.until, s->now_ms) == 0)
		return TURN_NONE;
	return slot;
}

void reservation_take(struct turn_shard *s, uint32_t slot)
{
	uint32_t *link = chain_of(s, cold_at(s, slot)->reserved.token);

	while (*link != slot)
		link = &cold_at(s, *link)->reserved.next;
	*link = cold_at(s, slot)->reserved.next;
	wheel_cancel(&s->wheel, slot);
	line_set_state(alloc_at(s, slot), ALLOC_FREE);
}

void reservation_end(struct turn_shard *s, uint32_t slot)
{
	reservation_take(s, slot);
	quota_give(s->quota, &cold_at(s, slot)->reserved.quota);
}

void reservation_lapse(struct turn_shard *s, uint32_t slot)
{
	reservation_end(s, slot);
	relay_ports_give(s->ports, slot, s->now_ms);
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
	// Drained after every burst and every expiry, so there is always room.
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
