// SPDX-License-Identifier: BSD-3-Clause
// Counts and reports events of allocations and requests.
#include "events/tell.h"
#include "limits/refusals.h"
#include "limits/stranger.h"
#include "shard.h"

static uint32_t now_s(const struct turn_shard *s)
{
	return (uint32_t)(s->now_ms / 1000);
}

static struct turn_event event_begin(const struct turn_shard *s, enum turn_event_kind kind)
{
	return (struct turn_event){.at_ms = s->now_ms,
		.wall_s = s->wall_s,
		.kind = (uint8_t)kind,
		.worker = s->worker};
}

static void name_set(struct turn_event *e, const void *name, size_t len)
{
	e->name_len = (uint8_t)(len < sizeof(e->name) ? len : sizeof(e->name));
	memcpy(e->name, name, e->name_len);
}

// Sets the user name of a request. An unknown USERHASH sets no name.
static void name_of_request(struct turn_event *e, const struct turn_request *r)
{
	const struct stun_msg *m = &r->m;
	const struct policy_user *user = NULL;

	if (stun_has(m, STUN_USERNAME))
		return name_set(e, m->data + m->off[STUN_USERNAME], m->alen[STUN_USERNAME]);
	if (m->alen[STUN_USERHASH] == sizeof(user->userhash))
		user = policy_user_by_hash(r->policy, m->data + m->off[STUN_USERHASH]);
	if (user != NULL)
		name_set(e, user->name, strlen(user->name));
}

// --- allocations ---------------------------------------------------------------------------------

static void event_allocation(struct turn_event *e, const struct turn_shard *s, uint32_t slot)
{
	const struct turn_line *l = alloc_at(s, slot);

	e->id = alloc_id(s, slot);
	e->client = (struct endpoint){l->end[TURN_FROM_CLIENT], line_port(l, TURN_FROM_CLIENT)};
	e->listener = line_listener(l);
	e->realm = alloc_realm(s, slot);
	e->relay = alloc_relay(s, slot);
	e->relay.addr = external_told(&s->policy->external, &e->relay.addr);
	e->proved = true;
}

// Reports a live allocation, with the name in its request.
static void tell_live(struct turn_request *r, enum turn_event_kind kind)
{
	struct turn_shard *s = r->s;
	struct turn_event e = event_begin(s, kind);

	s->usage[r->slot].told_s = (uint16_t)now_s(s);
	if (s->event == NULL)
		return;
	event_allocation(&e, s, r->slot);
	if (kind == TURN_EVENT_INTERIM)
		usage_of(s, r->slot, &e.usage);
	e.lifetime_s = (alloc_left(s, r->slot) + 999) / 1000;
	name_of_request(&e, r);
	s->event(s->ctx, &e);
}

void tell_made(struct turn_request *r)
{
	sums_of(r->s, r->slot)->made++;
	tell_live(r, TURN_EVENT_MADE);
}

void tell_interim(struct turn_request *r)
{
	const uint32_t interim_s = r->s->policy->interim_s;

	if (interim_s != 0 && (uint16_t)(now_s(r->s) - r->s->usage[r->slot].told_s) >= interim_s)
		tell_live(r, TURN_EVENT_INTERIM);
}

// Reports a live allocation, with the name that it keeps.
static void tell_kept(struct turn_shard *s, uint32_t slot, struct turn_event *e)
{
	const struct turn_cold *c = cold_at(s, slot);

	if (s->event == NULL)
		return;
	event_allocation(e, s, slot);
	e->lifetime_s = (alloc_left(s, slot) + 999) / 1000;
	name_set(e, c->name, c->name_len);
	s->event(s->ctx, e);
}

void tell_moved(struct turn_shard *s, uint32_t slot, uint64_t was)
{
	struct turn_event e = event_begin(s, TURN_EVENT_MOVED);

	e.was = was;
	tell_kept(s, slot, &e);
}

void tell_roamed(struct turn_shard *s, uint32_t slot, const struct endpoint *old_client)
{
	struct turn_event e = event_begin(s, TURN_EVENT_ROAMED);

	e.old_client = *old_client;
	tell_kept(s, slot, &e);
}

// A client may make thousands of permissions with a request, and end them with its allocation.
// Records of peers have room for this many a second of a user on each worker.
static const struct limit peers_told = {.rate = 100, .burst = 256};

void tell_peer(struct turn_shard *s, uint32_t slot, const struct endpoint *peer)
{
	const uint64_t user = cold_at(s, slot)->quota_user;
	struct turn_event e;

	if (!s->policy->tells_peers)
		return;
	if (!bucket_take(limiter_bucket(&s->limiter[TURN_LIMIT_PEERS],
				 hash_bytes(&s->key, &user, sizeof(user))),
		    &peers_told, s->now_ms * BUCKET_MS)) {
		s->stats.peers_untold++;
		return;
	}
	e = event_begin(s, TURN_EVENT_PEER);
	e.peer = (struct endpoint){external_told(&s->policy->external, &peer->addr), peer->port};
	tell_kept(s, slot, &e);
}

void tell_ended(struct turn_shard *s, uint32_t slot, enum turn_end reason)
{
	const struct turn_cold *c = cold_at(s, slot);
	const uint32_t lifetime_s = now_s(s) - s->usage[slot].made_s;
	struct turn_event e;

	sums_ended(s, slot, lifetime_s);
	if (s->event == NULL)
		return;
	e = event_begin(s, TURN_EVENT_ENDED);
	event_allocation(&e, s, slot);
	usage_of(s, slot, &e.usage);
	e.reason = (uint16_t)reason;
	e.lifetime_s = lifetime_s;
	name_set(&e, c->name, c->name_len);
	s->event(s->ctx, &e);
}

// --- refusals ------------------------------------------------------------------------------------

// A request without credentials, or with an expired nonce, is the normal start of every client.
static bool is_usual(enum turn_refusal refusal)
{
	return refusal == TURN_REFUSED_CHALLENGE || refusal == TURN_REFUSED_NONCE_STALE;
}

static bool is_auth_failure(enum turn_refusal refusal)
{
	return refusal >= TURN_REFUSED_REALM && refusal <= TURN_REFUSED_ACCESS_MISSING;
}

// Identifies an attempt: by the 5-tuple, every byte of the request, and the reason. A
// retransmission has the same bytes (RFC 8489 6.2.1); a guess at another password does not,
// whatever its transaction ID.
static uint64_t attempt_of(const struct turn_request *r, enum turn_refusal refusal)
{
	const struct hash_key *key = &r->s->key;
	const struct addr a = {.d = {r->v->hash, hash_bytes(key, r->m.data, r->m.len)}};

	return hash_addr(key, &a, refusal);
}

void tell_refused(struct turn_request *r, enum turn_refusal refusal)
{
	struct turn_shard *s = r->s;
	const bool proved = r->proof == PROOF_ADDRESS;
	struct turn_event e;

	s->stats.refused[refusal]++;
	if (is_usual(refusal) ||
		refusals_again(s->refusals, attempt_of(r, refusal), proved, s->now_ms))
		return;
	s->stats.auth_failures += is_auth_failure(refusal);
	if (s->event == NULL)
		return;
	e = event_begin(s, TURN_EVENT_REFUSED);
	if (r->slot != TURN_NONE)
		event_allocation(&e, s, r->slot);
	e.client = (struct endpoint){r->v->src, r->v->src_port};
	e.listener = r->v->listener;
	e.realm = r->policy->number;
	e.proved = proved;
	e.method = r->m.method;
	e.reason = (uint16_t)refusal;
	e.peer = r->peer;
	name_of_request(&e, r);
	refusals_take(s->refusals, &e);
}

void turn_shard_refused(struct turn_shard *s, const struct endpoint *client, uint8_t listener,
	unsigned int refusal, bool proved)
{
	struct turn_event e;

	if (s->event == NULL)
		return;
	e = event_begin(s, TURN_EVENT_CONNECTION);
	e.client = *client;
	e.listener = listener;
	e.reason = (uint16_t)refusal;
	e.proved = proved;
	refusals_take(s->refusals, &e);
}
