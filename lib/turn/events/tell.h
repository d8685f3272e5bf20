// SPDX-License-Identifier: BSD-3-Clause
// Makes events (turn_event.h) of what happens to allocations and requests, for whoever the shard
// was made for. Nothing here is on the way of a relayed datagram.
#pragma once

#include "requests/request.h"
#include "turn_event.h"

// The allocation of r->slot, which r has made.
void tell_made(struct turn_request *r);
// The same allocation, which r has refreshed: told when policy.interim_s have passed since the last
// event of it.
void tell_interim(struct turn_request *r);
// An allocation that a restart has taken up under another id than the one it had.
void tell_moved(struct turn_shard *s, uint32_t slot, uint64_t was);
// An allocation whose client has moved; `from` is where it was.
void tell_roamed(struct turn_shard *s, uint32_t slot, const struct endpoint *old_client);
// An allocation that is about to end.
void tell_ended(struct turn_shard *s, uint32_t slot, enum turn_end reason);
// Counts a refused request, and folds it into an event. A request that has come before, on the same
// 5-tuple with the same transaction id, is counted in stats.refused only.
void tell_refused(struct turn_request *r, enum turn_refusal refusal);
