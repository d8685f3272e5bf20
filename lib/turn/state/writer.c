// SPDX-License-Identifier: BSD-3-Clause
// Writes records. The word is stored last, so that a process that dies leaves the old record, an
// empty one, or one that is marked as half-written.
#include "state/writer.h"
#include "invariant.h"
#include "shard.h"

// Keeps the compiler from moving stores across it. The CPU needs no barrier: the stores of a dead
// thread are visible in their order to later readers.
static void order_stores(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void put_word(uint64_t *word, uint64_t value)
{
	order_stores();
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
	order_stores();
}

// CLOCK_BOOTTIME at a time of the shard's clock.
static uint64_t boot_ms(const struct turn_shard *s, uint64_t ms)
{
	return ms + __atomic_load_n(s->state.offset, __ATOMIC_RELAXED);
}

// --- allocations and reservations ----------------------------------------------------------------

// Writes a whole record. *body has all fields except word and digest; time is that of its word.
static void alloc_put(struct turn_shard *s, uint32_t slot, struct state_alloc *body, uint64_t time)
{
	const struct hash_key *key = &s->state.key;
	struct state_alloc *r = &s->state.alloc[slot];

	ASSERT((time & STATE_TIME_MASK) != 0 && (time & ~STATE_ENDED) <= STATE_TIME_MASK);
	ASSERT(body->made == cold_at(s, slot)->made);
	ASSERT(body->kind == STATE_ALLOCATION || body->kind == STATE_RESERVATION);
	body->word = STATE_WRITING;
	body->digest = state_digest_alloc(key, body);
	put_word(&r->word, STATE_WRITING);
	*r = *body;
	put_word(&r->word, state_word(key, body->digest, STATE_ARRAY_ALLOC | slot, time));
	ASSERT(state_time(r->word) == time);
}

static uint32_t realm_tag(const struct turn_shard *s, uint64_t user)
{
	const struct turn_policy *p = policy_realm(s->policy, quota_realm(user));

	return state_realm_tag(&s->state.key, p->number, p->realm);
}

// Fills in the client of an allocation, and the data that features keep for it.
static void put_client(const struct turn_shard *s, uint32_t slot, struct state_alloc *body)
{
	const struct turn_line *l = alloc_at(s, slot);

	body->client = l->end[TURN_FROM_CLIENT];
	body->client_port = line_port(l, TURN_FROM_CLIENT);
	body->listener = line_listener(l);
#define X(write, count, restore) write(s, slot, body);
	TURN_RECORDS(X)
#undef X
}

void state_made(struct turn_shard *s, const struct alloc_new *n, uint64_t expires_ms)
{
	const struct turn_cold *c = cold_at(s, n->slot);
	const struct turn_line *l = alloc_at(s, n->slot);
	struct state_alloc body;

	if (s->state.alloc == NULL)
		return;
	body = (struct state_alloc){.made_ms = boot_ms(s, s->now_ms) - n->age_s * UINT64_C(1000),
		.user = c->quota_user,
		.made = c->made,
		.relay_port = __builtin_bswap16(l->relay_port),
		.relay = (uint16_t)alloc_relay_index(s, n->slot),
		.kind = STATE_ALLOCATION,
		.flags = (c->rest ? STATE_REST : 0) | (c->rfc8489 ? STATE_RFC8489 : 0) |
			(n->kind == ALLOC_TCP ? STATE_TCP : 0),
		.alg = c->alg,
		.name_len = c->name_len,
		.realm_tag = realm_tag(s, c->quota_user)};
	memcpy(body.ident, n->cred->ident, sizeof(body.ident));
	memcpy(body.tid, n->tid, sizeof(body.tid));
	memcpy(body.mac, c->mac, sizeof(body.mac));
	memcpy(body.name, c->name, sizeof(body.name));
	put_client(s, n->slot, &body);
	alloc_put(s, n->slot, &body, boot_ms(s, expires_ms));
}

void state_moved(struct turn_shard *s, uint32_t slot)
{
	struct state_alloc body;

	if (s->state.alloc == NULL)
		return;
	body = s->state.alloc[slot];
	ASSERT(body.kind == STATE_ALLOCATION && (state_time(body.word) & STATE_ENDED) == 0);
	put_client(s, slot, &body);
	alloc_put(s, slot, &body, state_time(body.word));
}

void state_rekeyed(struct turn_shard *s, uint32_t slot, const struct turn_cred *cred)
{
	struct state_alloc body;

	if (s->state.alloc == NULL)
		return;
	body = s->state.alloc[slot];
	ASSERT(body.kind == STATE_ALLOCATION && (state_time(body.word) & STATE_ENDED) == 0);
	body.name_len = cred->name_len;
	memcpy(body.ident, cred->ident, sizeof(body.ident));
	memcpy(body.mac, cred->mac, sizeof(body.mac));
	memcpy(body.name, cred->name, sizeof(body.name));
	alloc_put(s, slot, &body, state_time(body.word));
}

void state_joined(struct turn_shard *s, uint32_t slot)
{
	const uint32_t sibling = alloc_sibling(s, slot);
	struct state_alloc body;

	if (s->state.alloc == NULL)
		return;
	body = s->state.alloc[slot];
	ASSERT(body.kind == STATE_ALLOCATION && (state_time(body.word) & STATE_ENDED) == 0);
	body.relay2 = (uint16_t)alloc_relay_index(s, sibling);
	body.relay2_port = __builtin_bswap16(alloc_at(s, sibling)->relay_port);
	put_client(s, slot, &body);
	alloc_put(s, slot, &body, state_time(body.word));
}

// The record of a slot without an allocation: only its port.
static struct state_alloc port_body(const struct turn_shard *s, uint32_t slot)
{
	struct state_alloc body = {.made_ms = boot_ms(s, s->now_ms),
		.made = cold_at(s, slot)->made,
		.kind = STATE_RESERVATION};

	body.relay = (uint16_t)turn_relay_map_locate(s->map, s->worker, slot, &body.relay_port);
	return body;
}

void state_reserved(struct turn_shard *s, uint32_t slot, const struct quota_ref *quota,
	const uint8_t *token, uint32_t left_ms)
{
	struct state_alloc body;

	if (s->state.alloc == NULL)
		return;
	body = port_body(s, slot);
	body.user = quota->user;
	body.source = quota->source;
	body.realm_tag = realm_tag(s, body.user);
	memcpy(body.token, token, sizeof(body.token));
	alloc_put(s, slot, &body, boot_ms(s, s->now_ms + left_ms));
}

void state_resting(struct turn_shard *s, uint32_t slot)
{
	struct state_alloc body;

	if (s->state.alloc == NULL)
		return;
	body = port_body(s, slot);
	alloc_put(s, slot, &body, boot_ms(s, s->now_ms) | STATE_ENDED);
}

// Changes the time of the slot's record. The digest shares a cache line with the word.
static void alloc_time(struct turn_shard *s, uint32_t slot, uint64_t time)
{
	struct state_alloc *r = &s->state.alloc[slot];

	ASSERT(r->word != STATE_EMPTY && r->word != STATE_WRITING);
	ASSERT(r->made == cold_at(s, slot)->made);
	put_word(&r->word, state_word(&s->state.key, r->digest, STATE_ARRAY_ALLOC | slot, time));
}

void state_refreshed(struct turn_shard *s, uint32_t slot, uint64_t expires_ms)
{
	if (s->state.alloc != NULL)
		alloc_time(s, slot, boot_ms(s, expires_ms));
}

void state_ended(struct turn_shard *s, uint32_t slot)
{
	if (s->state.alloc != NULL)
		alloc_time(s, slot, boot_ms(s, s->now_ms) | STATE_ENDED);
}

// --- permissions, channels, shared endpoints -----------------------------------------------------

void state_permission(
	struct turn_shard *s, uint32_t slot, uint32_t permission, uint32_t left_ms, bool is_new)
{
	struct state_permission body, *r;
	uint64_t digest;

	if (s->state.alloc == NULL)
		return;
	r = &s->state.permission[permission];
	body = (struct state_permission){.word = STATE_WRITING,
		.peer = s->permission[permission].peer,
		.slot = slot,
		.made = cold_at(s, slot)->made};
	digest = state_digest_permission(&s->state.key, &body);
	ASSERT(is_new ||
		(r->slot == slot && r->made == body.made && addr_eq(&r->peer, &body.peer)));
	if (is_new) {
		put_word(&r->word, STATE_WRITING);
		*r = body;
	}
	put_word(&r->word,
		state_word(&s->state.key, digest, STATE_ARRAY_PERMISSION | permission,
			boot_ms(s, s->now_ms + left_ms)));
}

void state_permission_gone(struct turn_shard *s, uint32_t permission)
{
	if (s->state.alloc != NULL)
		put_word(&s->state.permission[permission].word, STATE_EMPTY);
}

void state_channel(struct turn_shard *s, uint32_t channel, uint32_t left_ms, bool is_new)
{
	const struct turn_channel *c = &s->channel[channel];
	struct state_channel body, *r;
	uint64_t digest;

	if (s->state.alloc == NULL)
		return;
	r = &s->state.channel[channel];
	body = (struct state_channel){.word = STATE_WRITING,
		.slot = c->slot,
		.made = cold_at(s, c->slot)->made,
		.permission = c->permission,
		.number = c->number,
		.port = c->port,
		.form = s->channel_form[channel]};
	digest = state_digest_channel(&s->state.key, &body);
	ASSERT(is_new || r->made == body.made);
	ASSERT(is_new || (r->slot == body.slot && r->permission == body.permission));
	if (is_new) {
		put_word(&r->word, STATE_WRITING);
		*r = body;
	}
	put_word(&r->word,
		state_word(&s->state.key, digest, STATE_ARRAY_CHANNEL | channel,
			boot_ms(s, s->now_ms + left_ms)));
}

void state_channel_gone(struct turn_shard *s, uint32_t channel)
{
	if (s->state.alloc != NULL)
		put_word(&s->state.channel[channel].word, STATE_EMPTY);
}

void state_endpoint(
	struct turn_shard *s, uint32_t endpoint, uint32_t slot, uint32_t permission, uint16_t port)
{
	struct state_channel body, *r;
	uint64_t digest;

	if (s->state.alloc == NULL)
		return;
	r = &s->state.endpoint[endpoint];
	body = (struct state_channel){.word = STATE_WRITING,
		.slot = slot,
		.made = cold_at(s, slot)->made,
		.permission = permission,
		.port = port};
	digest = state_digest_channel(&s->state.key, &body);
	put_word(&r->word, STATE_WRITING);
	*r = body;
	// the endpoint lives as long as its permission
	put_word(&r->word,
		state_word(&s->state.key, digest, STATE_ARRAY_ENDPOINT | endpoint,
			boot_ms(s, s->now_ms)));
}

void state_endpoint_gone(struct turn_shard *s, uint32_t endpoint)
{
	if (s->state.alloc != NULL)
		put_word(&s->state.endpoint[endpoint].word, STATE_EMPTY);
}
