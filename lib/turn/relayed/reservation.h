// SPDX-License-Identifier: BSD-3-Clause
// Reservations: the odd port of an EVEN-PORT pair, found by its token (RFC 8656 7.2).
#pragma once

#include "limits/quota.h"
#include "turn.h"

#define TURN_RESERVATION_MS (60 * 1000) // RFC 8656 7.2: at least 30 seconds
#define TURN_TOKEN_LEN 8

// Reserves an odd slot (taken by the caller) with the token of the allocation that will be made on
// the even one; it counts in the quota like an allocation. False when libcrypto fails.
bool reservation_make(struct turn_shard *s, uint32_t slot, const struct quota_ref *quota);
// The token that goes with the allocation on an even slot, of which made has this value: not kept
// but made again, so that a retransmission gets it. False when libcrypto fails.
bool reservation_token(
	const struct turn_shard *s, uint32_t slot, uint32_t made, uint8_t token[TURN_TOKEN_LEN]);
// Slot of a live reservation with this token, or TURN_NONE.
uint32_t reservation_find(const struct turn_shard *s, const uint8_t token[TURN_TOKEN_LEN]);
// The slot stops being reserved; it stays taken and counted.
void reservation_take(struct turn_shard *s, uint32_t slot);
// Likewise, and its quota is given back.
void reservation_end(struct turn_shard *s, uint32_t slot);
// Likewise, and the port is given back.
void reservation_lapse(struct turn_shard *s, uint32_t slot);
