// SPDX-License-Identifier: BSD-3-Clause
// Makes events (turn_event.h) about allocations and requests, for the callback of the shard.
// Relaying a datagram calls nothing here.
#pragma once

#include "requests/request.h"
#include "turn_event.h"

// The allocation of r->slot was made by r.
void tell_made(struct turn_request *r);
// The allocation was refreshed by r: reported if policy.interim_s have passed since its last event.
void tell_interim(struct turn_request *r);
// A restart has restored an allocation, whose ID was `was`.
void tell_moved(struct turn_shard *s, uint32_t slot, uint64_t was);
// The client of an allocation has moved from old_client.
void tell_roamed(struct turn_shard *s, uint32_t slot, const struct endpoint *old_client);
// Reports a new peer of an allocation, if policy.tells_peers; port 0 = any. Above a rate for each
// user it is only counted, in stats.peers_untold.
void tell_peer(struct turn_shard *s, uint32_t slot, const struct endpoint *peer);
// An allocation is about to end.
void tell_ended(struct turn_shard *s, uint32_t slot, enum turn_end reason);
// Counts a refused request, and folds it into an event. A retransmission, on the same 5-tuple with
// the same transaction ID, is counted in stats.refused only.
void tell_refused(struct turn_request *r, enum turn_refusal refusal);
