// SPDX-License-Identifier: BSD-3-Clause
// Keeps lines up to date: their marks and copies. turn_line.h has the part that the data path may
// use.
#pragma once

#include "turn_line.h"

// States of a line. ALLOC_REDIRECT and all states after it relay no datagrams: the data path tests
// for them in one comparison.
enum alloc_state {
	ALLOC_FREE,
	ALLOC_LIVE,
	ALLOC_RESERVED,
	ALLOC_REDIRECT,
	ALLOC_PATH, // the 5-tuple to which an allocation is about to move (features/mobility)
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

// The time when a redirect ends, in milliseconds, in the redirect's line. A redirect has no peer,
// so the field of the peer's address is free.
static inline uint64_t *redirect_until(struct turn_line *l)
{
	return &l->end[TURN_FROM_PEER].d[0];
}

// The user that a redirect counts for: see redirect_lead.
static inline uint64_t *redirect_user(struct turn_line *l)
{
	return &l->end[TURN_FROM_PEER].d[1];
}

// A path has an end time like a redirect. Its `channel` is the worker that has the redirect to the
// path (TURN_NO_WORKER: this worker is the client's home). The next two fields are the slot of the
// allocation, and the stream of the Refresh's view.
static inline uint32_t *line_path_slot(struct turn_line *l)
{
	return &l->sums;
}

static inline uint64_t *line_path_stream(struct turn_line *l)
{
	return &l->end[TURN_FROM_PEER].d[1];
}

// True if the line belongs to the client of the view.
static inline bool line_is_client(const struct turn_line *l, const struct turn_view *v)
{
	return line_state(l) != ALLOC_FREE && addr_eq(&l->end[TURN_FROM_CLIENT], &v->src) &&
		((l->mark[TURN_FROM_CLIENT] ^ v->mark) & TURN_MARK_CLIENT) == 0;
}

// Counts of a leg in a line that have not been spilled yet.
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

// True if the line has a valid copy, of a channel or of a peer without a channel.
static inline bool line_copies(const struct turn_line *l, uint32_t tick)
{
	return l->until != 0 && turn_line_good(l, tick);
}

// After a standstill of this many ticks the shard drops all copies (doc/decisions/0023-usage.md).
#define LINE_STANDSTILL 16384

// Renews the copy of a channel in the line, after any change to the data that the copy depends on.
// It copies the same channel again if that still exists, else the newest channel.
void line_copy_channel(struct turn_shard *s, uint32_t slot);
// Makes the line hold a copy of this channel, or no copy: for TURN_NONE, or if the channel or its
// permission has expired.
void line_copy(struct turn_shard *s, uint32_t slot, uint32_t channel);
// Makes the line hold a copy of a peer that has a live permission and no channel.
void line_copy_peer(struct turn_shard *s, uint32_t slot, const struct endpoint *peer);
// Removes the copies from all lines.
void line_forget_all(struct turn_shard *s);
// True if the line has a valid copy of this peer, with or without a channel.
bool line_has(const struct turn_shard *s, uint32_t slot, const struct endpoint *peer);
