// SPDX-License-Identifier: BSD-3-Clause
// Redirects: records that lead a client to its allocation where that lives on another worker than
// the client's home.
#include "redirect.h"
#include "shard.h"

#define REDIRECT_COUNTS 1 // relay_port of a redirect that counts for a user

uint32_t redirect_take(struct turn_shard *s, uint64_t user)
{
	uint32_t r = TURN_NONE;

	if (share_fits(&s->move_share, user, 0, 1))
		r = pool_take(&s->redirects);
	if (r == TURN_NONE) {
		s->stats.pool_refused++;
		return TURN_NONE;
	}
	share_take(&s->move_share, user, 0);
	return s->nb_slots + r;
}

void redirect_give(struct turn_shard *s, uint32_t index, uint64_t user)
{
	share_give(&s->move_share, user, 1);
	pool_give(&s->redirects, index - s->nb_slots);
}

// Begins the line of a redirect. False when the client table has no room.
static bool begin(struct turn_shard *s, uint32_t index, const struct turn_view *v, uint8_t worker,
	uint64_t until_ms)
{
	if (!alloc_client_insert(s, v, index))
		return false;
	line_set_state(alloc_at(s, index), ALLOC_REDIRECT);
	alloc_at(s, index)->channel = worker;
	*redirect_until(alloc_at(s, index)) = until_ms;
	wheel_set(&s->wheel, index, until_ms);
	return true;
}

static bool make(struct turn_shard *s, const struct turn_view *v, uint8_t worker, uint64_t until_ms)
{
	const uint32_t r = pool_take(&s->redirects);

	if (r == TURN_NONE)
		return false;
	if (begin(s, s->nb_slots + r, v, worker, until_ms))
		return true;
	pool_give(&s->redirects, r);
	return false;
}

bool redirect_make(struct turn_shard *s, const struct turn_view *v, uint8_t worker)
{
	return make(s, v, worker, s->now_ms + TURN_REDIRECT_PENDING_MS);
}

bool redirect_move(struct turn_shard *s, const struct turn_view *v, uint8_t worker, uint64_t user)
{
	const uint32_t index = redirect_take(s, user);

	if (index == TURN_NONE)
		return false;
	if (!begin(s, index, v, worker, s->now_ms + TURN_REDIRECT_PENDING_MS)) {
		redirect_give(s, index, user);
		return false;
	}
	alloc_at(s, index)->relay_port = REDIRECT_COUNTS;
	*redirect_user(alloc_at(s, index)) = user;
	return true;
}

void redirect_end(struct turn_shard *s, uint32_t index)
{
	struct turn_line *l = alloc_at(s, index);

	table_remove(&s->clients, alloc_client_view(s, index).hash, index);
	wheel_cancel(&s->wheel, index);
	line_set_state(l, ALLOC_FREE);
	if (l->relay_port == REDIRECT_COUNTS)
		redirect_give(s, index, *redirect_user(l));
	else
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
	// The notes are taken after every burst and every expiry, and who ends many asks for room
	// (shard_has_notes).
	if (via == TURN_NO_WORKER || s->nb_notes == TURN_NOTES_MAX)
		return;
	s->note[s->nb_notes++] = (struct turn_redirect_note){.client = {v->src, v->src_port},
		.listener = v->listener,
		.from = s->worker,
		.to = via,
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
		// Without room, what the client sends finds no allocation.
		if (note->until_ms > s->now_ms)
			make(s, &v, note->from, note->until_ms);
		return;
	}
	if (line_state(alloc_at(s, i)) != ALLOC_REDIRECT || alloc_at(s, i)->channel != note->from)
		return;
	if (note->until_ms == 0)
		redirect_end(s, i);
	else
		*redirect_until(alloc_at(s, i)) = note->until_ms;
}

uint8_t turn_redirect_to(const struct turn_shard *s, const struct turn_view *v)
{
	struct turn_view of = *v;
	uint32_t i;

	of.hash = shard_client_hash(s, &v->src, v->src_port, v->listener);
	i = alloc_lookup(s, &of);
	if (i == TURN_NONE || line_state(alloc_at(s, i)) != ALLOC_REDIRECT ||
		*redirect_until(alloc_at(s, i)) <= s->now_ms)
		return TURN_NO_WORKER;
	return (uint8_t)alloc_at(s, i)->channel;
}
