// SPDX-License-Identifier: BSD-3-Clause
// Restores the allocations of an old state area, and reserved ports. Each goes through the calls
// that a request would have made: quota, relay port, client table. A record contains the data of
// the request, and never the links of tables or trees.
#include "state/adopt.h"

#include <errno.h>

#include "events/tell.h"
#include "relayed/relayed.h"
#include "shard.h"
#include "state/writer.h"

// --- losses -------------------------------------------------------------------------------------

static enum turn_end end_of(enum turn_state_loss loss)
{
	switch (loss) {
	case TURN_STATE_LOST_EXPIRED:
		return TURN_END_EXPIRED;
	case TURN_STATE_LOST_STREAM:
		return TURN_END_CONNECTION;
	case TURN_STATE_LOST_USER:
		return TURN_END_USER;
	case TURN_STATE_LOST_DENIED:
		return TURN_END_DENIED;
	case TURN_STATE_LOST_QUOTA:
		return TURN_END_QUOTA;
	default:
		return TURN_END_RESTART;
	}
}

static void usage_read(const struct adopt *d, uint32_t slot, struct turn_usage *out)
{
	const struct usage *u = (const struct usage *)state_at(d->h, d->part->usage_at) + slot;

	for (unsigned int leg = 0; leg < 2; leg++) {
		out->leg[leg].datagrams = u->datagrams[leg] * (uint64_t)TURN_SPILL_DATAGRAMS;
		out->leg[leg].bytes = u->bytes[leg] * (uint64_t)TURN_SPILL_BYTES;
	}
	for (unsigned int i = 0; i < TURN_LOSS_KEPT; i++)
		out->lost[i] = u->lost[i];
}

static uint32_t age_s(const struct adopt *d, const struct state_alloc *r)
{
	return d->a->boot_ms > r->made_ms ? (uint32_t)((d->a->boot_ms - r->made_ms) / 1000) : 0;
}

// The ID under which an allocation of the old area was reported.
static uint64_t id_of(const struct adopt *d, const struct state_alloc *r, uint32_t slot)
{
	return (uint64_t)d->worker << 58 | (uint64_t)slot << 32 | r->made;
}

// Reports that an allocation of the old area has ended, under the ID with which it was reported as
// made.
static void tell_gone(
	struct adopt *d, const struct state_alloc *r, uint32_t slot, enum turn_state_loss loss)
{
	struct turn_shard *s = d->a->shards[0];
	const int listener = d->listener[r->listener];
	const struct turn_policy *p = adopt_policy(d, r);
	struct turn_event e;

	adopt_lost(d, loss);
	if (s->event == NULL)
		return;
	e = (struct turn_event){.at_ms = s->now_ms,
		.wall_s = s->wall_s,
		.id = id_of(d, r, slot),
		.client = {r->client, r->client_port},
		.relay = {*state_relay(d->h, r->relay), r->relay_port},
		.realm = p != NULL ? p->number : 0,
		.kind = TURN_EVENT_ENDED,
		.listener = listener >= 0 ? (uint8_t)listener : UINT8_MAX,
		.proved = true,
		.reason = (uint16_t)end_of(loss),
		.lifetime_s = age_s(d, r),
		.name_len = r->name_len};
	e.relay.addr = external_told(&s->policy->external, &e.relay.addr);
	memcpy(e.name, r->name, r->name_len);
	usage_read(d, slot, &e.usage);
	s->event(s->ctx, &e);
}

// Applies a shard's notes about redirects to the shards that hold these.
static void hand_notes(struct adopt *d, struct turn_shard *s)
{
	struct turn_redirect_note note[TURN_NOTES_MAX];
	const unsigned int n = turn_redirect_notes(s, note, TURN_NOTES_MAX);

	for (unsigned int i = 0; i < n; i++)
		turn_redirect_apply(d->a->shards[note[i].redirect_worker], &note[i]);
}

static void end_one(struct adopt *d, struct adopt_alloc *p, enum turn_end reason)
{
	struct turn_shard *s = d->a->shards[p->worker];

	alloc_end(s, p->slot, reason);
	hand_notes(d, s);
	d->out->allocations--;
	p->is_restored = false;
}

void adopt_end(struct adopt *d, struct adopt_alloc *p, enum turn_end reason)
{
	const uint32_t sibling = alloc_sibling(d->a->shards[p->worker], p->slot);
	struct adopt_alloc *q = d->alloc, *const end = q + d->part->nb_slots;

	end_one(d, p, reason);
	if (sibling == TURN_NONE)
		return;
	// rare enough for a linear search: both belong to the old worker whose records are being
	// processed, or no server has written the area
	while (q < end && (!q->is_restored || q->worker != p->worker || q->slot != sibling))
		q++;
	if (q < end)
		end_one(d, q, reason);
}

// --- allocations --------------------------------------------------------------------------------

// True if the users who made an allocation may still make one.
static bool has_user(const struct turn_policy *p, const struct state_alloc *r)
{
	if (r->alg == CRED_TOKEN)
		return policy_has_key(p, r->ident);
	if (policy_looks_up(p)) // its next request tells
		return true;
	return (r->flags & STATE_REST) != 0 ? p->nb_secrets > 0 : policy_has_ident(p, r->ident);
}

// The reason that prevents restoring an allocation, as far as it is known before anything is
// allocated; TURN_STATE_LOST_END if there is no reason.
static enum turn_state_loss check_record(
	const struct adopt *d, const struct state_alloc *r, struct adopt_home *home)
{
	const struct turn_policy *p = adopt_policy(d, r);

	if (adopt_left(d, r->word, UINT32_MAX) == 0)
		return TURN_STATE_LOST_EXPIRED;
	if (turn_shard_refuses(d->a->shards[0], &r->client) != TURN_OK)
		return TURN_STATE_LOST_DENIED;
	if (state_listener(d->h, r->listener)->transport != TURN_OVER_UDP ||
		(r->flags & STATE_TCP) != 0)
		return TURN_STATE_LOST_STREAM;
	if (d->listener[r->listener] < 0)
		return TURN_STATE_LOST_LISTENER;
	if (!adopt_home(d, r, home))
		return TURN_STATE_LOST_RELAY;
	if (p == NULL ||
		!policy_serves(
			d->a->shards[0]->policy, (uint8_t)d->listener[r->listener], p->number) ||
		!has_user(p, r))
		return TURN_STATE_LOST_USER;
	return TURN_STATE_LOST_END;
}

static struct turn_cred cred_of(const struct state_alloc *r)
{
	struct turn_cred c = {.alg = r->alg,
		.rest = (r->flags & STATE_REST) != 0,
		.rfc8489 = (r->flags & STATE_RFC8489) != 0,
		.name_len = r->name_len};

	memcpy(c.ident, r->ident, sizeof(c.ident));
	memcpy(c.mac, r->mac, sizeof(c.mac));
	memcpy(c.name, r->name, sizeof(c.name));
	return c;
}

// The client's view for a shard on which the allocation is restored. If its home is another worker,
// that worker gets a redirect.
static struct turn_view view_of(
	const struct adopt *d, const struct state_alloc *r, const struct turn_shard *s)
{
	const uint8_t listener = (uint8_t)d->listener[r->listener];
	const struct endpoint client = {r->client, r->client_port};
	struct turn_view v = {.src = r->client, .src_port = r->client_port, .listener = listener};
	const unsigned int home = d->a->home(d->a->ctx, &client, listener);

	v.hash = shard_client_hash(s, &v.src, v.src_port, listener);
	v.via = home == s->worker || home >= s->workers ? TURN_NO_WORKER : (uint8_t)home;
	return v;
}

// Makes the redirect that leads the client to its allocation, if it needs one.
static bool make_redirect(
	struct adopt *d, const struct turn_view *v, const struct turn_shard *s, uint64_t user)
{
	struct turn_shard *home = v->via != TURN_NO_WORKER ? d->a->shards[v->via] : NULL;

	return home == NULL ||
		(alloc_lookup(home, v) == TURN_NONE && redirect_keep(home, v, s->worker, user));
}

// The allocation on s that formed a dual allocation with that of a record, and was restored before
// it; TURN_NONE if there is no such allocation.
static uint32_t sibling_of(const struct adopt *d, const struct state_alloc *r,
	const struct turn_view *v, const struct turn_shard *s)
{
	const uint32_t slot = r->relay2_port != 0 ? alloc_lookup(s, v) : TURN_NONE;
	struct endpoint told, relay;

	if (slot == TURN_NONE || line_state(alloc_at(s, slot)) != ALLOC_LIVE ||
		r->relay2 >= d->h->nb_relay || alloc_sibling(s, slot) != TURN_NONE ||
		cold_at(s, slot)->ident_hash != alloc_who(s, r->ident))
		return TURN_NONE;
	told = (struct endpoint){*state_relay(d->h, r->relay2), r->relay2_port};
	relay = alloc_relay(s, slot);
	return endpoint_eq(&told, &relay) &&
			addr_is_v4(state_relay(d->h, r->relay)) != alloc_is_v4(s, slot)
		? slot
		: TURN_NONE;
}

// Makes the allocation and, if it is the first of its client, the redirect that leads to it. False
// if there is no room; then nothing is left.
static bool alloc_insert(struct adopt *d, const struct state_alloc *r, const struct alloc_new *n,
	struct turn_shard *s)
{
	const struct turn_view v = view_of(d, r, s);
	const uint32_t first = sibling_of(d, r, &v, s);

	if (first != TURN_NONE) {
		alloc_join(s, first, n);
		return true;
	}
	if (alloc_lookup(s, &v) != TURN_NONE || !make_redirect(d, &v, s, n->quota.user))
		return false;
	if (!alloc_make(s, &v, n)) {
		redirect_gone(s, v.via, &v);
		return false;
	}
	d->out->redirects += v.via != TURN_NO_WORKER;
	return true;
}

// Continues the old counts of the slot.
static void restore_usage(const struct adopt *d, struct turn_shard *s, uint32_t slot, uint32_t old)
{
	const struct usage *was = (const struct usage *)state_at(d->h, d->part->usage_at) + old;
	struct usage *u = &s->usage[slot];

	memcpy(u->bytes, was->bytes, sizeof(u->bytes));
	memcpy(u->datagrams, was->datagrams, sizeof(u->datagrams));
	memcpy(u->lost, was->lost, sizeof(u->lost));
}

// Makes the allocation on a slot that is allocated and counted in the quota. False if there is no
// room; then nothing is left.
static bool restore_on_slot(struct adopt *d, const struct state_alloc *r, uint32_t old,
	struct alloc_new *n, struct turn_shard *s)
{
	const bool stays = s->worker == d->worker && n->slot == old;
	bool made;

	n->number = stays ? r->made : 0; // the allocation keeps its ID
	made = alloc_insert(d, r, n, s);
	hand_notes(d, s);
	if (!made)
		return false;
#define X(write, count, take) take(s, n->slot, r, &n->quota);
	TURN_RECORDS(X)
#undef X
	restore_usage(d, s, n->slot, old);
	s->stats.allocations_total--; // counts only those that requests have made
	if (!stays)
		tell_moved(s, n->slot, id_of(d, r, old));
	return true;
}

// Restores an allocation that check_record has accepted. Returns the reason of a loss, or
// TURN_STATE_LOST_END on success.
static enum turn_state_loss restore_alloc(
	struct adopt *d, const struct state_alloc *r, uint32_t old, const struct adopt_home *home)
{
	struct turn_shard *s = d->a->shards[home->worker];
	const struct turn_limits *l = &adopt_policy(d, r)->limits;
	const struct turn_cred cred = cred_of(r);
	struct alloc_new n = {
		.lifetime_ms = adopt_left(d, r->word, l->lifetime_max_s * UINT64_C(1000)),
		.age_s = age_s(d, r),
		.tid = r->tid,
		.cred = &cred,
		.quota = {quota_renumber(r->user, l->realm), quota_source(&r->client)}};

#define X(write, count_record, restore) count_record(s, r, &n.quota);
	TURN_RECORDS(X)
#undef X
	if (quota_take_ref(s->quota, l, &n.quota) != TURN_GRANTED)
		return TURN_STATE_LOST_QUOTA;
	if (relayed_take_at(s, home->index, n.quota.user, &n.slot) != TURN_GRANTED) {
		quota_give(s->quota, &n.quota);
		return TURN_STATE_LOST_PORT;
	}
	if (!restore_on_slot(d, r, old, &n, s)) {
		relayed_give(s, n.slot, n.quota.user);
		quota_give(s->quota, &n.quota);
		return r->relay2_port != 0 ? TURN_STATE_LOST_SIBLING : TURN_STATE_LOST_ROOM;
	}
	d->alloc[old] = (struct adopt_alloc){r->made, n.slot, s->worker, true};
	d->out->allocations++;
	return TURN_STATE_LOST_END;
}

// --- reserved and resting ports -----------------------------------------------------------------

// The port of an allocation that ended at ended_ms must continue to rest: for a full time, so that
// the ports rest in the order in which they are freed. A TCP port does not: that number is the
// number of another UDP port, which may be in use.
static void rest_on(struct adopt *d, const struct state_alloc *r, uint64_t ended_ms)
{
	const uint64_t rest_ms = d->a->shards[0]->policy->quarantine_s * UINT64_C(1000);
	struct turn_shard *s;
	struct adopt_home home;
	uint32_t slot;

	// relay_ports.h defines when a port has rested
	if (d->a->boot_ms > ended_ms && d->a->boot_ms - ended_ms >= rest_ms)
		return;
	if ((r->flags & STATE_TCP) != 0 || !adopt_home(d, r, &home))
		return;
	s = d->a->shards[home.worker];
	if (shard_shares_ports(s) || relayed_take_at(s, home.index, r->user, &slot) != TURN_GRANTED)
		return;
	relayed_give(s, slot, r->user);
	state_resting(s, slot); // the next process needs to know it, too
	d->out->resting++;
}

// The port of a record that is not an allocation rests, unless a feature restores it.
static void restore_port(struct adopt *d, const struct state_alloc *r)
{
#define X(of_kind, restore)                        \
	if (r->kind == (of_kind) && restore(d, r)) \
		return;
	TURN_RECORD_KINDS(X)
#undef X
	if (adopt_left(d, r->word, 1) > 0)
		adopt_lost(d, TURN_STATE_LOST_RESERVATION);
	rest_on(d, r, d->a->boot_ms);
}

static void restore_slot(struct adopt *d, uint32_t slot)
{
	enum turn_state_loss loss;
	struct state_alloc r;
	struct adopt_home home;

	switch (adopt_read(d, slot, &r)) {
	case ADOPT_NONE:
		return;
	case ADOPT_ENDED:
		return rest_on(d, &r, state_time(r.word) & ~STATE_ENDED);
	case ADOPT_GOOD:
		break;
	}
	if (r.kind == STATE_RESERVATION)
		return restore_port(d, &r);
	loss = check_record(d, &r, &home);
	if (loss == TURN_STATE_LOST_END)
		loss = restore_alloc(d, &r, slot, &home);
	if (loss == TURN_STATE_LOST_END)
		return;
	tell_gone(d, &r, slot, loss);
	rest_on(d, &r, d->a->boot_ms);
}

// --- all ----------------------------------------------------------------------------------------

static void restore_worker(struct adopt *d, unsigned int worker, uint64_t *done, uint64_t all)
{
	adopt_worker(d, worker);
	for (uint32_t slot = 0; slot < d->part->nb_slots; slot++) {
		restore_slot(d, slot);
		if (++*done % TURN_STATE_STEP == 0 && d->a->progress != NULL)
			d->a->progress(d->a->ctx, *done, all);
	}
	adopt_peers(d);
}

int turn_state_adopt(const struct turn_state_adoption *a, struct turn_state_adopted *out)
{
	struct adopt d = {.a = a, .out = out, .h = a->area};
	struct turn_state_about about;
	uint64_t done = 0;

	*out = (struct turn_state_adopted){0};
	if (!adopt_open(&d)) {
		adopt_close(&d);
		return ENOMEM;
	}
	adopt_realms(&d);
	turn_state_about(a->area, &about);
	for (unsigned int w = 0; w < a->config->workers; w++)
		turn_shard_round(a->shards[w], a->clock_ms, a->wall_s);
	for (unsigned int w = 0; w < d.h->workers; w++)
		restore_worker(&d, w, &done, about.slots);
	adopt_close(&d);
	return 0;
}
