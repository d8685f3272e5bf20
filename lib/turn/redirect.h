// SPDX-License-Identifier: BSD-3-Clause
// Redirects: a client whose allocation lives on another worker than its home.
#pragma once

#include "turn.h"

#define TURN_REDIRECT_PENDING_MS (5 * 1000) // until the new home confirms
#define TURN_NOTES_MAX 128

// Leads a client to another worker until the allocation made there ends. False when there is no
// room.
bool redirect_make(struct turn_shard *s, const struct turn_view *v, uint8_t worker);
void redirect_end(struct turn_shard *s, uint32_t index);
// Its timer has fired: it ends or, prolonged meanwhile, goes on.
void redirect_due(struct turn_shard *s, uint32_t index);
// Tells the worker that holds the redirect of this client (nothing when via is TURN_NO_WORKER).
void redirect_note(struct turn_shard *s, uint8_t via, const struct turn_view *v, uint64_t until_ms);
