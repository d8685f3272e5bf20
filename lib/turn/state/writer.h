// SPDX-License-Identifier: BSD-3-Clause
// Writes the records of a shard to its part of the state area (turn_state.h), as part of ordinary
// work: plain stores into memory that is there. Where a shard has no area, each of these functions
// does nothing. None is on the way of a relayed datagram, except that the first Send to a peer from
// a shared address registers it.
#pragma once

#include "alloc.h"
#include "turn.h"

// The allocation that alloc_make has made of *n; it expires at expires_ms.
void state_made(struct turn_shard *s, const struct alloc_new *n, uint64_t expires_ms);
// The client of a live allocation has moved, or been given another ticket.
void state_moved(struct turn_shard *s, uint32_t slot);
// A live allocation that an access token has made has another token's key now.
void state_rekeyed(struct turn_shard *s, uint32_t slot, const struct turn_cred *cred);
// A live allocation has become one of a dual allocation.
void state_joined(struct turn_shard *s, uint32_t slot);
// A live allocation, or one that is being made, expires at this time now.
void state_refreshed(struct turn_shard *s, uint32_t slot, uint64_t expires_ms);
// The reservation on a slot, complete except for its timer.
void state_reserved(struct turn_shard *s, uint32_t slot, uint32_t left_ms);
// The port of a slot that has had neither in this process rests from now on.
void state_resting(struct turn_shard *s, uint32_t slot);
// The slot's allocation or reservation is over.
void state_ended(struct turn_shard *s, uint32_t slot);
// A permission, or a channel, with the time that it has left. is_new: more than its time is new.
void state_permission(
	struct turn_shard *s, uint32_t slot, uint32_t permission, uint32_t left_ms, bool is_new);
void state_permission_gone(struct turn_shard *s, uint32_t permission);
void state_channel(struct turn_shard *s, uint32_t channel, uint32_t left_ms, bool is_new);
void state_channel_gone(struct turn_shard *s, uint32_t channel);
// A peer that is registered on a shared address, under a permission.
void state_endpoint(struct turn_shard *s, uint32_t endpoint, uint32_t permission);
void state_endpoint_gone(struct turn_shard *s, uint32_t endpoint);
