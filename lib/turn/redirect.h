// SPDX-License-Identifier: BSD-3-Clause
// Redirects: they lead a client to the worker that has its allocation, if that is not its home.
#pragma once

#include "turn.h"
#include "turn_features.h"

// Redirects of each kind have room of their own (turn_shard.redirect_share).
enum redirect_kind {
	REDIRECT_LEADS, // to allocations made on another worker
#define X(kind, enabled, number) kind,
	TURN_REDIRECTS(X)
#undef X
		REDIRECT_KINDS
};

// Lifetime of a new redirect until the other worker confirms.
#define TURN_REDIRECT_PENDING_MS (5 * 1000)
#define TURN_NOTES_MAX 256

// Allocates the index of a line beyond nb_slots, which counts as a redirect of this kind; user is
// the user half of a quota_ref. TURN_NONE if there is no index left for this user, which is
// counted.
uint32_t redirect_take(struct turn_shard *s, enum redirect_kind kind, uint64_t user);
// Frees that index.
void redirect_give(struct turn_shard *s, enum redirect_kind kind, uint32_t index, uint64_t user);

// Makes a redirect of v's client to another worker, where a request is about to make its
// allocation, or to move to it. It lives as long as the allocation. It counts for the user, who may
// have only a part of the room of its kind (limits.pool.per-user). False if there is no room.
bool redirect_lead(struct turn_shard *s, enum redirect_kind kind, const struct turn_view *v,
	uint8_t worker, uint64_t user);
// Like redirect_lead() of REDIRECT_LEADS, for an existing allocation and without a limit for the
// user.
bool redirect_keep(struct turn_shard *s, const struct turn_view *v, uint8_t worker, uint64_t user);
// Ends a redirect.
void redirect_end(struct turn_shard *s, uint32_t index);
// Called when the timer of a redirect fires: ends the redirect, or sets the timer again if its time
// has been extended since.
void redirect_due(struct turn_shard *s, uint32_t index);
// Tells worker via, which holds the redirect of this client, until when to keep it, and for which
// user. redirect_gone() tells it to end the redirect. Both do nothing if via is TURN_NO_WORKER.
void redirect_note(struct turn_shard *s, uint8_t via, const struct turn_view *v, uint64_t until_ms,
	uint64_t user);
static inline void redirect_gone(struct turn_shard *s, uint8_t via, const struct turn_view *v)
{
	redirect_note(s, via, v, 0, 0);
}
