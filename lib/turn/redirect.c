// SPDX-License-Identifier: BSD-3-Clause
// Redirects: records that lead a client to its allocation, if that lives on another worker than the
// client's home.
#include "redirect.h"
#include "invariant.h"
#include "shard.h"

// Allocates an index that counts in a share; the line of a redirect has its kind in relay_port.
// TURN_NONE if there is no index left.
static uint32_t take_index(struct turn_shard *s, enum redirect_kind kind, uint64_t user)
{
	const uint32_t r = pool_take(&s->redirects);

	if (r == TURN_NONE)
		return TURN_NONE;
	ASSERT(line_state(alloc_at(s, s->nb_slots + r)) == ALLOC_FREE);
	ASSERT(!wheel_armed(&s->wheel, s->nb_slots + r));
	share_take(&s->redirect_share[kind], user, 0);
	return s->nb_slots + r;
}

void redirect_give(struct turn_shard *s, enum redirect_kind kind, uint32_t index, uint64_t user)
{
	ASSERT(index >= s->nb_slots && index < s->nb_slots + s->nb_redirects);
	ASSERT(line_state(alloc_at(s, index)) == ALLOC_FREE && !wheel_armed(&s->wheel, index));
	share_give(&s->redirect_share[kind], user, 1);
	pool_give(&s->redirects, index - s->nb_slots);
}

uint32_t redirect_take(struct turn_shard *s, enum redirect_kind kind, uint64_t user)
{
	const bool fits = share_fits(&s->redirect_share[kind], user, 0, 1);
	const uint32_t index = fits ? take_index(s, kind, user) : TURN_NONE;

	s->stats.pool_refused += index == TURN_NONE;
	return index;
}

// Makes a redirect on an index that was allocated. False if index is TURN_NONE, or if the table of
// clients is full.
static bool begin_redirect(struct turn_shard *s, enum redirect_kind kind, uint32_t index,
	const struct turn_view *v, const struct turn_redirect_note *note)
{
	struct turn_line *l;

	if (index == TURN_NONE)
		return false;
	if (!alloc_client_insert(s, v, index)) {
		redirect_give(s, kind, index, note->user);
		return false;
	}
	ASSERT(note->alloc_worker != s->worker); // the redirect leads to another worker
	l = alloc_at(s, index);
	line_set_state(l, ALLOC_REDIRECT);
	l->channel = note->alloc_worker;
	l->relay_port = kind;
	*redirect_user(l) = note->user;
	*redirect_until(l) = note->until_ms;
	wheel_set(&s->wheel, index, note->until_ms);
	return true;
}

// The initial note of a redirect, until the worker that it leads to sends one.
static struct turn_redirect_note pending_note(
	const struct turn_shard *s, uint8_t worker, uint64_t user)
{
	return (struct turn_redirect_note){.alloc_worker = worker,
		.user = user,
		.until_ms = s->now_ms + TURN_REDIRECT_PENDING_MS};
}

bool redirect_keep(struct turn_shard *s, const struct turn_view *v, uint8_t worker, uint64_t user)
{
	const struct turn_redirect_note note = pending_note(s, worker, user);

	return begin_redirect(s, REDIRECT_LEADS, take_index(s, REDIRECT_LEADS, user), v, &note);
}

bool redirect_lead(struct turn_shard *s, enum redirect_kind kind, const struct turn_view *v,
	uint8_t worker, uint64_t user)
{
	const struct turn_redirect_note note = pending_note(s, worker, user);

	return begin_redirect(s, kind, redirect_take(s, kind, user), v, &note);
}

void redirect_end(struct turn_shard *s, uint32_t index)
{
	struct turn_line *l = alloc_at(s, index);

	ASSERT(index >= s->nb_slots && line_state(l) == ALLOC_REDIRECT);
	ASSERT(l->relay_port < REDIRECT_KINDS);
	table_remove(&s->clients, alloc_client_view(s, index).hash, index);
	wheel_cancel(&s->wheel, index);
	line_set_state(l, ALLOC_FREE);
	redirect_give(s, (enum redirect_kind)l->relay_port, index, *redirect_user(l));
}

void redirect_due(struct turn_shard *s, uint32_t index)
{
	const uint64_t until_ms = *redirect_until(alloc_at(s, index));

	ASSERT(!wheel_armed(&s->wheel, index));
	if (until_ms <= s->now_ms)
		redirect_end(s, index);
	else
		wheel_set(&s->wheel, index, until_ms);
}

void redirect_note(struct turn_shard *s, uint8_t via, const struct turn_view *v, uint64_t until_ms,
	uint64_t user)
{
	// The notes are collected after every burst and every expiry, and callers that end many
	// allocations check for room (shard_has_notes).
	if (via == TURN_NO_WORKER || s->nb_notes == TURN_NOTES_MAX)
		return;
	ASSERT(via != s->worker && s->nb_notes < TURN_NOTES_MAX);
	s->note[s->nb_notes++] = (struct turn_redirect_note){.client = {v->src, v->src_port},
		.listener = v->listener,
		.alloc_worker = s->worker,
		.redirect_worker = via,
		.user = user,
		.until_ms = until_ms};
}

bool turn_redirect_noted(const struct turn_shard *s)
{
	return s->nb_notes > 0;
}

unsigned int turn_redirect_notes(
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

void turn_redirect_apply(struct turn_shard *s, const struct turn_redirect_note *note)
{
	const struct turn_view v = {.src = note->client.addr,
		.src_port = note->client.port,
		.listener = note->listener,
		.hash = shard_client_hash(
			s, &note->client.addr, note->client.port, note->listener)};
	const uint32_t i = alloc_lookup(s, &v);

	if (i == TURN_NONE) {
		// If there is no room, the client's datagrams find no allocation.
		if (note->until_ms > s->now_ms)
			begin_redirect(s, REDIRECT_LEADS, take_index(s, REDIRECT_LEADS, note->user),
				&v, note);
		return;
	}
	if (line_state(alloc_at(s, i)) != ALLOC_REDIRECT ||
		alloc_at(s, i)->channel != note->alloc_worker)
		return;
	if (note->until_ms == 0)
		redirect_end(s, i);
	else
		*redirect_until(alloc_at(s, i)) = note->until_ms;
}

uint8_t turn_redirect_to(const struct turn_shard *s, const struct turn_view *v)
{
	struct turn_view hashed = *v;
	uint32_t i;

	hashed.hash = shard_client_hash(s, &v->src, v->src_port, v->listener);
	i = alloc_lookup(s, &hashed);
	if (i == TURN_NONE || line_state(alloc_at(s, i)) != ALLOC_REDIRECT ||
		*redirect_until(alloc_at(s, i)) <= s->now_ms)
		return TURN_NO_WORKER;
	return (uint8_t)alloc_at(s, i)->channel;
}
