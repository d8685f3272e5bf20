// SPDX-License-Identifier: BSD-3-Clause
// How lib/turn keeps lines up to date: their marks and copies. turn_line.h has what the data path
// may know.
#pragma once

#include "turn_line.h"

enum alloc_state { ALLOC_FREE, ALLOC_LIVE, ALLOC_RESERVED, ALLOC_REDIRECT };
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

// Renews the copy of a channel in the line, after any change to what the copy depends on. It copies
// the same channel again if that is still there, else the newest channel.
void line_copy_channel(struct turn_shard *s, uint32_t slot);
// Makes the line hold a copy of this channel, or of none (TURN_NONE).
void line_copy(struct turn_shard *s, uint32_t slot, uint32_t channel);
// Makes the line hold a copy of a peer that has a live permission and no channel.
void line_copy_peer(struct turn_shard *s, uint32_t slot, const struct endpoint *peer);
// Whether the line has a copy of this peer, with or without a channel, that is still good.
bool line_has(const struct turn_shard *s, uint32_t slot, const struct endpoint *peer);
