// SPDX-License-Identifier: BSD-3-Clause
// Redirects: they lead a client whose allocation lives on another worker than its home to that
// worker.
#pragma once

#include "turn.h"

#define TURN_REDIRECT_PENDING_MS (5 * 1000) // a new redirect's time until the new home confirms
#define TURN_NOTES_MAX 256

// Takes an index for a redirect or path of a user who moves, user being the half of a quota_ref;
// TURN_NONE when there is none left for this user, which is counted.
uint32_t redirect_take(struct turn_shard *s, uint64_t user);
// Gives it back.
void redirect_give(struct turn_shard *s, uint32_t index, uint64_t user);

// Makes a redirect of v's client to another worker, where a request is to make its allocation. It
// lasts until that ends. It counts for the user, who may have only a part of the room
// (limits.pool.per-user). False when there is no room.
bool redirect_lead(struct turn_shard *s, const struct turn_view *v, uint8_t worker, uint64_t user);
// The same for an allocation that exists, whatever the user has.
bool redirect_keep(struct turn_shard *s, const struct turn_view *v, uint8_t worker, uint64_t user);
// The same as redirect_lead for a client that moves there: it takes none of what other redirects
// have.
bool redirect_move(struct turn_shard *s, const struct turn_view *v, uint8_t worker, uint64_t user);
// Ends a redirect.
void redirect_end(struct turn_shard *s, uint32_t index);
// Called when the timer of a redirect fires: ends the redirect, or sets the timer again if its time
// was prolonged meanwhile.
void redirect_due(struct turn_shard *s, uint32_t index);
// Tells worker via, which holds the redirect of this client, until when to keep it, and for which
// user. Does nothing when via is TURN_NO_WORKER, as redirect_gone does, which tells to end it.
void redirect_note(struct turn_shard *s, uint8_t via, const struct turn_view *v, uint64_t until_ms,
	uint64_t user);
static inline void redirect_gone(struct turn_shard *s, uint8_t via, const struct turn_view *v)
{
	redirect_note(s, via, v, 0, 0);
}
