// SPDX-License-Identifier: BSD-3-Clause
// Writes the records of a shard to its part of the state area (turn_state.h) during normal work:
// plain stores into mapped memory. If a shard has no area, these functions do nothing. Relaying a
// datagram calls no function here, except that the first Send to a peer from a shared address
// registers it.
#pragma once

#include "alloc.h"
#include "turn.h"

// alloc_make has made an allocation from *n; it expires at expires_ms.
void state_made(struct turn_shard *s, const struct alloc_new *n, uint64_t expires_ms);
// The client of a live allocation has moved, or the data that a feature keeps for the allocation
// has changed.
void state_moved(struct turn_shard *s, uint32_t slot);
// A live allocation made by an access token has another token's key now.
void state_rekeyed(struct turn_shard *s, uint32_t slot, const struct turn_cred *cred);
// A live allocation has become half of a dual allocation.
void state_joined(struct turn_shard *s, uint32_t slot);
// The expiry of an allocation, live or being made, has changed to this time.
void state_refreshed(struct turn_shard *s, uint32_t slot, uint64_t expires_ms);
// A slot without an allocation is kept under a token of 8 bytes; this counts in the quota.
void state_reserved(struct turn_shard *s, uint32_t slot, const struct quota_ref *quota,
	const uint8_t *token, uint32_t left_ms);
// The port of a slot rests from now on, although it had neither an allocation nor a reservation in
// this process.
void state_resting(struct turn_shard *s, uint32_t slot);
// The slot's allocation or reservation has ended.
void state_ended(struct turn_shard *s, uint32_t slot);
// A permission, or a channel, with its remaining time. is_new: other fields have changed, too.
void state_permission(
	struct turn_shard *s, uint32_t slot, uint32_t permission, uint32_t left_ms, bool is_new);
void state_permission_gone(struct turn_shard *s, uint32_t permission);
void state_channel(struct turn_shard *s, uint32_t channel, uint32_t left_ms, bool is_new);
void state_channel_gone(struct turn_shard *s, uint32_t channel);
// The peer of a permission, with this port, was registered for an allocation as record number
// endpoint.
void state_endpoint(
	struct turn_shard *s, uint32_t endpoint, uint32_t slot, uint32_t permission, uint16_t port);
void state_endpoint_gone(struct turn_shard *s, uint32_t endpoint);
