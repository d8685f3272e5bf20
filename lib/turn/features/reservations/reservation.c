// SPDX-License-Identifier: BSD-3-Clause
// Reservations: the odd port of an EVEN-PORT pair is kept for the client that presents its token
// (RFC 8656 7.2).
#include "features/reservations/reservation.h"
#include "bytes.h"
#include "invariant.h"
#include "relayed/relayed.h"
#include "shard.h"
#include "state/writer.h"

#define CHAIN 32 // slots per chain

size_t reservations_size(const struct turn_shard_params *p, uint32_t permissions)
{
	return sizeof(uint32_t) * (turn_relay_map_slots(p->map, p->worker) / CHAIN + 1);
}

void reservations_init(struct turn_shard *s, void *mem, const struct turn_shard_params *p)
{
	struct reservations *r = &s->reservations;

	*r = (struct reservations){.chain = mem, .nb_chains = s->nb_slots / CHAIN + 1};
	memset(r->chain, 0xff, sizeof(*r->chain) * r->nb_chains); // TURN_NONE
	csprng_bytes(p->rng, r->key, sizeof(r->key));
}

// Head of the chain of a token.
static uint32_t *chain_of(const struct turn_shard *s, const uint8_t token[TURN_TOKEN_LEN])
{
	const struct reservations *r = &s->reservations;
	const uint64_t hash = hash_bytes(&s->key, token, TURN_TOKEN_LEN);

	return &r->chain[(uint64_t)(uint32_t)hash * r->nb_chains >> 32];
}

bool reservation_token(
	const struct turn_shard *s, uint32_t slot, uint32_t made, uint8_t token[TURN_TOKEN_LEN])
{
	uint8_t text[8], mac[32];

	store_be32(text, slot);
	store_be32(text + 4, made);
	if (!stun_hmac_sha256(s->crypto, s->reservations.key, sizeof(s->reservations.key), text,
		    sizeof(text), mac))
		return false;
	// The first byte leads any worker to this one. The other 56 bits cannot be guessed within a
	// minute.
	memcpy(token, mac, TURN_TOKEN_LEN);
	token[0] = s->worker;
	return true;
}

void reservation_put(struct turn_shard *s, uint32_t slot, const struct reservation *r)
{
	struct turn_cold *c = cold_at(s, slot);
	uint32_t *head = chain_of(s, r->token);

	ASSERT(line_state(alloc_at(s, slot)) == ALLOC_FREE && !bitset_has(&s->live, slot));
	ASSERT(!wheel_armed(&s->wheel, slot));
	c->reserved.quota = r->quota;
	c->reserved.until = (uint32_t)(s->now_ms + r->left_ms);
	c->reserved.next = *head;
	memcpy(c->reserved.token, r->token, TURN_TOKEN_LEN);
	*head = slot;
	*alloc_at(s, slot) = (struct turn_line){0};
	line_set_state(alloc_at(s, slot), ALLOC_RESERVED);
	state_reserved(s, slot, &r->quota, r->token, r->left_ms);
	wheel_set(&s->wheel, slot, s->now_ms + r->left_ms);
}

bool reservation_make(struct turn_shard *s, uint32_t slot, const struct quota_ref *quota)
{
	uint8_t token[TURN_TOKEN_LEN];
	const struct reservation r = {token, *quota, TURN_RESERVATION_MS};

	ASSERT(slot % 2 == 1); // the upper port of a pair
	if (!reservation_token(s, slot - 1, alloc_number(s, slot - 1), token))
		return false;
	reservation_put(s, slot, &r);
	return true;
}

uint32_t reservation_find(const struct turn_shard *s, const uint8_t token[TURN_TOKEN_LEN])
{
	uint32_t slot = *chain_of(s, token);

	while (slot != TURN_NONE &&
		!stun_equal(cold_at(s, slot)->reserved.token, token, TURN_TOKEN_LEN))
		slot = cold_at(s, slot)->reserved.next;
	ASSERT(slot == TURN_NONE || line_state(alloc_at(s, slot)) == ALLOC_RESERVED);
	if (slot == TURN_NONE || ms_left(cold_at(s, slot)->reserved.until, s->now_ms) == 0)
		return TURN_NONE;
	return slot;
}

void reservation_take(struct turn_shard *s, uint32_t slot)
{
	uint32_t *link = chain_of(s, cold_at(s, slot)->reserved.token);

	ASSERT(line_state(alloc_at(s, slot)) == ALLOC_RESERVED);
	while (*link != slot) {
		ASSERT(*link != TURN_NONE); // every reserved slot is in the chain of its token
		link = &cold_at(s, *link)->reserved.next;
	}
	*link = cold_at(s, slot)->reserved.next;
	state_ended(s, slot);
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
	const uint64_t user = cold_at(s, slot)->reserved.quota.user;

	reservation_end(s, slot);
	relayed_give(s, slot, user);
}
