// SPDX-License-Identifier: BSD-3-Clause
// How lib/turn keeps lines up to date: their marks and copies. turn_line.h has what the data path
// may know.
#pragma once

#include "turn_line.h"

// What is not datagrams comes last: the data path's way asks for that in one step.
enum alloc_state {
	ALLOC_FREE,
	ALLOC_LIVE,
	ALLOC_RESERVED,
	ALLOC_REDIRECT,
	ALLOC_PATH, // the 5-tuple that an allocation is about to move to (mobile/mobile.h)
	ALLOC_TCP
};
_Static_assert(ALLOC_LIVE == TURN_MARK_STATE_LIVE, "the data path knows this state");

static inline uint16_t line_port(const struct turn_line *l, enum turn_leg end)
{
	return turn_mark_port(l->mark[end]);
}

static inline uint8_t line_listener(const struct turn_line *l)
{
	return turn_mark_listener(l->mark[TURN_FROM_CLIENT]);
}

static inline enum alloc_state line_state(const struct turn_line *l)
{
	return (enum alloc_state)turn_mark_state(l->mark[TURN_FROM_CLIENT]);
}

static inline void line_set_state(struct turn_line *l, enum alloc_state state)
{
	l->mark[TURN_FROM_CLIENT] = turn_mark_with_state(l->mark[TURN_FROM_CLIENT], state);
}

// Where a redirect's line keeps the time when the redirect ends, in milliseconds. A redirect has no
// peer, so the peer's place in the line is free.
static inline uint64_t *redirect_until(struct turn_line *l)
{
	return &l->end[TURN_FROM_PEER].d[0];
}

// A redirect counts for its user: see redirect_lead.
static inline uint64_t *redirect_user(struct turn_line *l)
{
	return &l->end[TURN_FROM_PEER].d[1];
}

// A path has a time as a redirect has, as channel the worker that leads there (TURN_NO_WORKER: it
// is its client's home), and these two: the slot of its allocation, and what the view of the
// Refresh had as stream.
static inline uint32_t *line_path_slot(struct turn_line *l)
{
	return &l->sums;
}

static inline uint64_t *line_path_stream(struct turn_line *l)
{
	return &l->end[TURN_FROM_PEER].d[1];
}

// Whether a line is one of the client of a view.
static inline bool line_is_client(const struct turn_line *l, const struct turn_view *v)
{
	return line_state(l) != ALLOC_FREE && addr_eq(&l->end[TURN_FROM_CLIENT], &v->src) &&
		((l->mark[TURN_FROM_CLIENT] ^ v->mark) & TURN_MARK_CLIENT) == 0;
}

// What a line has counted for a leg and has not spilled.
struct line_count {
	uint32_t bytes, datagrams;
};

static inline struct line_count line_count(const struct turn_line *l, unsigned int leg)
{
	const uint32_t both = (uint32_t)(l->counts >> TURN_LEG_BITS * leg);

	return (struct line_count){both & (2 * TURN_SPILL_BYTES - 1),
		both >> TURN_BYTES_BITS & (2 * TURN_SPILL_DATAGRAMS - 1)};
}

static inline void line_set_count(struct turn_line *l, unsigned int leg, struct line_count c)
{
	const uint64_t mask = (UINT64_C(1) << TURN_LEG_BITS) - 1;
	const uint64_t both = c.bytes | c.datagrams << TURN_BYTES_BITS;

	l->counts = (l->counts & ~(mask << TURN_LEG_BITS * leg)) | both << TURN_LEG_BITS * leg;
}

// Whether the line has a copy, of a channel or of a peer without one, that is still good.
static inline bool line_copies(const struct turn_line *l, uint32_t tick)
{
	return l->until != 0 && turn_line_good(l, tick);
}

// A standstill of so many ticks makes the shard forget all copies (doc/decisions/0023-usage.md).
#define LINE_STANDSTILL 16384

// Renews the copy of a channel in the line, after any change to what the copy depends on. It copies
// the same channel again if that is still there, else the newest channel.
void line_copy_channel(struct turn_shard *s, uint32_t slot);
// Makes the line hold a copy of this channel, or of none (TURN_NONE, or its time or that of its
// permission has passed).
void line_copy(struct turn_shard *s, uint32_t slot, uint32_t channel);
// Makes the line hold a copy of a peer that has a live permission and no channel.
void line_copy_peer(struct turn_shard *s, uint32_t slot, const struct endpoint *peer);
// Makes every line hold a copy of none.
void line_forget_all(struct turn_shard *s);
// Whether the line has a copy of this peer, with or without a channel, that is still good.
bool line_has(const struct turn_shard *s, uint32_t slot, const struct endpoint *peer);
