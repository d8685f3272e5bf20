// SPDX-License-Identifier: BSD-3-Clause
// Keeps the records of allocations that may move: handle, number of the last ticket, path.
#include "features/mobility/mobile.h"
#include "events/tell.h"
#include "invariant.h"
#include "shard.h"
#include "state/writer.h"

// --- records -------------------------------------------------------------------------------------

struct mobile *mobile_of(const struct turn_shard *s, uint32_t slot)
{
	uint32_t sibling;

	if (s->mobile == NULL)
		return NULL;
	if (s->mobile[slot].handle != 0)
		return &s->mobile[slot];
	sibling = alloc_sibling(s, slot);
	return sibling != TURN_NONE && s->mobile[sibling].handle != 0 ? &s->mobile[sibling] : NULL;
}

// Head of the chain that a record is in, or NULL if the record is at the slot of its handle.
static uint32_t *chain_of(const struct turn_shard *s, uint32_t slot)
{
	const uint32_t handle_slot = alloc_id_slot(s->mobile[slot].handle);

	return handle_slot != slot && handle_slot < s->nb_slots ? &s->mobile[handle_slot].heirs
								: NULL;
}

static void chain_add(struct turn_shard *s, uint32_t slot)
{
	uint32_t *link = chain_of(s, slot);

	if (link == NULL)
		return;
	s->mobile[slot].next = *link;
	*link = slot + 1;
}

static void chain_remove(struct turn_shard *s, uint32_t slot)
{
	uint32_t *link = chain_of(s, slot);

	if (link == NULL)
		return;
	while (*link != slot + 1) {
		ASSERT(*link != 0); // the record is in the chain of its handle's slot
		link = &s->mobile[*link - 1].next;
	}
	*link = s->mobile[slot].next;
}

void mobile_begin(struct turn_shard *s, uint32_t slot, uint64_t source)
{
	struct mobile *m = &s->mobile[slot];

	ASSERT(m->handle == 0);
	*m = (struct mobile){.handle = alloc_id(s, slot),
		.source = source,
		.serial = 1,
		.before = 1,
		.path = TURN_NONE,
		.heirs = m->heirs};
}

// A ticket is only valid on the worker that issued it.
static bool may_move(const struct turn_shard *s, const struct state_alloc *record)
{
	return s->mobile != NULL && record->handle != 0 &&
		alloc_id_worker(record->handle) == s->worker;
}

void mobile_write(const struct turn_shard *s, uint32_t slot, struct state_alloc *record)
{
	const struct mobile *m = mobile_of(s, slot);

	record->handle = m != NULL ? m->handle : 0;
	record->counted = m != NULL ? m->source : 0;
	record->serial = m != NULL ? m->serial : 0;
}

void mobile_count_record(
	const struct turn_shard *s, const struct state_alloc *record, struct quota_ref *ref)
{
	if (may_move(s, record))
		ref->source = record->counted;
}

void mobile_restore(struct turn_shard *s, uint32_t slot, const struct state_alloc *record,
	const struct quota_ref *ref)
{
	struct mobile *m = s->mobile != NULL ? &s->mobile[slot] : NULL;

	if (!may_move(s, record))
		return;
	if (mobile_of(s, slot) != NULL)
		return state_moved(s, slot);
	mobile_begin(s, slot, ref->source);
	m->handle = record->handle;
	m->serial = m->before = record->serial;
	m->roamed = ref->source != quota_source(&alloc_at(s, slot)->end[TURN_FROM_CLIENT]);
	chain_add(s, slot);
	state_moved(s, slot);
}

// Moves the ticket of a dual allocation to the remaining half.
static void inherit_ticket(struct turn_shard *s, uint32_t slot, uint32_t sibling)
{
	struct mobile *m = &s->mobile[slot], *dst = &s->mobile[sibling];
	const uint32_t heirs = dst->heirs;

	ASSERT(m->handle != 0 && dst->handle == 0);
	*dst = *m;
	dst->heirs = heirs;
	ASSERT(m->path == TURN_NONE || *line_path_slot(alloc_at(s, m->path)) == sibling);
	m->handle = 0;
	chain_add(s, sibling);
	state_moved(s, sibling);
}

void mobile_end(struct turn_shard *s, uint32_t slot)
{
	const uint32_t sibling = alloc_sibling(s, slot);
	struct mobile *m = mobile_of(s, slot);

	if (m == NULL)
		return;
	// a path leads to either half, whichever has the record
	if (sibling == TURN_NONE)
		mobile_path_drop(s, m);
	else if (m->path != TURN_NONE)
		*line_path_slot(alloc_at(s, m->path)) = sibling;
	m = &s->mobile[slot];
	if (m->handle == 0)
		return;
	chain_remove(s, slot);
	if (sibling != TURN_NONE)
		inherit_ticket(s, slot, sibling);
	m->handle = 0;
}

void mobile_count(const struct turn_shard *s, uint32_t slot, struct quota_ref *ref)
{
	const struct mobile *m = mobile_of(s, slot);

	if (m != NULL)
		ref->source = m->source;
}

static bool has_handle(const struct turn_shard *s, uint32_t slot, uint64_t handle)
{
	return slot < s->nb_slots && s->mobile[slot].handle == handle &&
		line_state(alloc_at(s, slot)) == ALLOC_LIVE;
}

uint32_t mobile_find(const struct turn_shard *s, uint64_t handle)
{
	uint32_t slot = alloc_id_slot(handle);

	if (handle == 0 || slot >= s->nb_slots)
		return TURN_NONE;
	if (has_handle(s, slot, handle))
		return slot;
	for (uint32_t i = s->mobile[slot].heirs; i != 0; i = s->mobile[slot].next) {
		slot = i - 1;
		if (has_handle(s, slot, handle))
			return slot;
	}
	return TURN_NONE;
}

// --- closed connections --------------------------------------------------------------------------

uint32_t mobile_grace(const struct turn_shard *s, uint32_t slot)
{
	const struct mobile *m = mobile_of(s, slot);
	uint64_t until_ms;

	if (m == NULL || m->lost_ms == 0)
		return UINT32_MAX;
	until_ms = m->lost_ms + s->policy->grace_s * UINT64_C(1000);
	return until_ms > s->now_ms ? (uint32_t)(until_ms - s->now_ms) : 0;
}

bool mobile_is_away(const struct turn_shard *s, uint32_t slot)
{
	const struct mobile *m = mobile_of(s, slot);

	if (m == NULL)
		return false;
	if (m->path != TURN_NONE) {
		ASSERT(line_state(alloc_at(s, m->path)) == ALLOC_PATH);
		ASSERT(mobile_of(s, *line_path_slot(alloc_at(s, m->path))) == m);
	}
	return m->lost_ms != 0;
}

// No 5-tuple has the allocation then. A new connection from that 5-tuple counts as another client's
// until it shows the ticket.
bool mobile_lost(struct turn_shard *s, uint32_t slot)
{
	struct mobile *m = mobile_of(s, slot);
	const uint32_t sibling = alloc_sibling(s, slot);
	uint64_t until_ms;

	if (m == NULL)
		return false;
	if (m->path != TURN_NONE) {
		mobile_move(s, slot, *line_path_stream(alloc_at(s, m->path)));
		return true;
	}
	if (s->policy->grace_s == 0)
		return false;
	alloc_unlist(s, slot);
	m->lost_ms = s->now_ms;
	until_ms = s->now_ms + s->policy->grace_s * UINT64_C(1000);
	alloc_timer(s, slot, until_ms);
	if (sibling != TURN_NONE)
		alloc_timer(s, sibling, until_ms);
	s->stats.outlived++;
	return true;
}

// --- paths ---------------------------------------------------------------------------------------

static uint64_t user_of(const struct turn_shard *s, uint32_t path)
{
	return cold_at(s, *line_path_slot(alloc_at(s, path)))->quota_user;
}

// Removes a path, except from the worker that has the redirect to it.
static void path_remove(struct turn_shard *s, uint32_t path)
{
	const uint64_t user = user_of(s, path);

	ASSERT(path >= s->nb_slots && line_state(alloc_at(s, path)) == ALLOC_PATH);
	table_remove(&s->clients, alloc_client_view(s, path).hash, path);
	wheel_cancel(&s->wheel, path);
	line_set_state(alloc_at(s, path), ALLOC_FREE);
	redirect_give(s, REDIRECT_MOVES, path, user);
}

void mobile_path_drop(struct turn_shard *s, struct mobile *m)
{
	struct turn_view v;

	if (m->path == TURN_NONE)
		return;
	ASSERT(line_state(alloc_at(s, m->path)) == ALLOC_PATH);
	ASSERT(mobile_of(s, *line_path_slot(alloc_at(s, m->path))) == m);
	v = alloc_client_view(s, m->path);
	redirect_gone(s, (uint8_t)alloc_at(s, m->path)->channel, &v);
	path_remove(s, m->path);
	m->path = TURN_NONE;
}

bool mobile_path_make(struct turn_shard *s, uint32_t slot, const struct turn_view *v)
{
	const uint64_t user = cold_at(s, slot)->quota_user;
	struct mobile *m = mobile_of(s, slot);
	uint32_t path;

	mobile_path_drop(s, m);
	path = redirect_take(s, REDIRECT_MOVES, user);
	if (path == TURN_NONE)
		return false;
	if (!alloc_client_insert(s, v, path)) {
		redirect_give(s, REDIRECT_MOVES, path, user);
		return false;
	}
	m->path = path;
	line_set_state(alloc_at(s, path), ALLOC_PATH);
	alloc_at(s, path)->channel = v->via;
	*line_path_slot(alloc_at(s, path)) = slot;
	*line_path_stream(alloc_at(s, path)) = v->stream;
	*redirect_until(alloc_at(s, path)) = s->now_ms + MOBILE_PATH_MS;
	wheel_set(&s->wheel, path, s->now_ms + MOBILE_PATH_MS);
	redirect_note(s, v->via, v, s->now_ms + MOBILE_PATH_MS, user);
	ASSERT(alloc_lookup(s, v) == path && bitset_has(&s->live, slot));
	return true;
}

void mobile_path_due(struct turn_shard *s, uint32_t index)
{
	s->stats.moves_lapsed++;
	mobile_path_drop(s, mobile_of(s, *line_path_slot(alloc_at(s, index))));
}

bool mobile_on_path(const struct turn_shard *s, const struct mobile *m, const struct turn_view *v)
{
	return m->path != TURN_NONE && line_is_client(alloc_at(s, m->path), v);
}

void mobile_move(struct turn_shard *s, uint32_t slot, uint64_t stream)
{
	struct mobile *m = mobile_of(s, slot);
	const uint32_t sibling = alloc_sibling(s, slot);
	const struct turn_view before = alloc_client_view(s, slot);
	struct turn_view v = alloc_client_view(s, m->path);

	ASSERT(line_state(alloc_at(s, m->path)) == ALLOC_PATH && bitset_has(&s->live, slot));
	ASSERT(mobile_of(s, *line_path_slot(alloc_at(s, m->path))) == m);
	v.via = (uint8_t)alloc_at(s, m->path)->channel;
	path_remove(s, m->path);
	m->path = TURN_NONE;
	m->lost_ms = 0;
	m->roamed = true;
	alloc_move(s, slot, &v);
	if (s->moved != NULL) {
		s->moved(s->ctx, slot, stream);
		if (sibling != TURN_NONE)
			s->moved(s->ctx, sibling, stream);
	}
	s->stats.moves++;
	tell_roamed(s, slot, &(struct endpoint){before.src, before.src_port});
}

bool turn_has_roamed(const struct turn_shard *s, uint32_t slot)
{
	const struct mobile *m = mobile_of(s, slot);

	return m != NULL && m->roamed;
}

void mobile_used(struct turn_shard *s, uint32_t slot, const struct turn_view *v)
{
	struct mobile *m = mobile_of(s, slot);

	if (m == NULL || !mobile_on_path(s, m, v))
		return;
	m->before = m->serial; // the client has received the last ticket
	mobile_move(s, slot, v->stream);
}

bool mobile_moves(const struct turn_shard *s, uint32_t slot)
{
	const struct mobile *m = mobile_of(s, slot);

	return m != NULL && m->path != TURN_NONE;
}

bool mobile_leave(struct turn_shard *s, uint32_t slot, const struct turn_view *v)
{
	const struct mobile *m = mobile_of(s, slot);

	if (m == NULL || m->path == TURN_NONE || mobile_on_path(s, m, v) ||
		mobile_path_slot(s, m->path) == TURN_NONE)
		return false;
	mobile_move(s, slot, *line_path_stream(alloc_at(s, m->path)));
	return true;
}

uint32_t mobile_path_slot(struct turn_shard *s, uint32_t path)
{
	const uint32_t slot = *line_path_slot(alloc_at(s, path));

	if (*redirect_until(alloc_at(s, path)) > s->now_ms)
		return slot;
	mobile_path_due(s, path);
	return TURN_NONE;
}

// The path from this client's 5-tuple, or TURN_NONE.
static uint32_t path_of(const struct turn_shard *s, const struct turn_view *v)
{
	struct turn_view hashed = *v;
	uint32_t i;

	if (s->mobile == NULL)
		return TURN_NONE;
	hashed.hash = shard_client_hash(s, &v->src, v->src_port, v->listener);
	i = alloc_lookup(s, &hashed);
	return i != TURN_NONE && line_state(alloc_at(s, i)) == ALLOC_PATH ? i : TURN_NONE;
}

uint32_t mobile_path_left(const struct turn_shard *s, const struct turn_view *v)
{
	const uint32_t path = path_of(s, v);

	return path != TURN_NONE ? alloc_left(s, *line_path_slot(alloc_at(s, path))) : 0;
}

void mobile_path_lost(struct turn_shard *s, const struct turn_view *v)
{
	const uint32_t path = path_of(s, v);

	if (path != TURN_NONE && *line_path_stream(alloc_at(s, path)) == v->stream)
		mobile_path_due(s, path);
}
