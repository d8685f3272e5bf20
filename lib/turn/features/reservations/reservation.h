// SPDX-License-Identifier: BSD-3-Clause
// Reservations: the odd port of an EVEN-PORT pair, found by its token (RFC 8656 7.2).
#pragma once

#include "limits/quota.h"
#include "turn.h"

struct adopt;
struct state_alloc;
struct turn_shard_params;

#define TURN_RESERVATION_MS (60 * 1000) // RFC 8656 7.2: at least 30 seconds
#define TURN_TOKEN_LEN 8

// A reserved port: the data of its slot.
struct reserved {
	struct quota_ref quota; // how it is counted
	uint32_t until;
	uint32_t next; // next slot in its chain
	uint8_t token[TURN_TOKEN_LEN];
};

// Data of a shard.
struct reservations {
	uint32_t *chain; // heads of the chains of reserved slots, by the hash of a token
	uint32_t nb_chains;
	uint8_t key[32]; // HMAC key of tokens
};

// Size of the chains, and their start in mem.
size_t reservations_size(const struct turn_shard_params *p, uint32_t permissions);
void reservations_init(struct turn_shard *s, void *mem, const struct turn_shard_params *p);

struct reservation {
	const uint8_t *token; // TURN_TOKEN_LEN bytes
	struct quota_ref quota; // how it is counted
	uint32_t left_ms;
};

// Reserves an odd slot, which the caller has allocated, under the token of the allocation that will
// be made on the even one. A reservation counts in the quota like an allocation. False if libcrypto
// fails.
bool reservation_make(struct turn_shard *s, uint32_t slot, const struct quota_ref *quota);
// Reserves a slot, which the caller has allocated, under a token, for left_ms.
void reservation_put(struct turn_shard *s, uint32_t slot, const struct reservation *r);
// The token of the allocation on an even slot whose `made` has this value. The token is not stored
// but computed again, so that a retransmission gets the same one. False if libcrypto fails.
bool reservation_token(
	const struct turn_shard *s, uint32_t slot, uint32_t made, uint8_t token[TURN_TOKEN_LEN]);
// Slot of a live reservation with this token, or TURN_NONE.
uint32_t reservation_find(const struct turn_shard *s, const uint8_t token[TURN_TOKEN_LEN]);
// Ends the reservation of a slot; the slot stays allocated and counted in the quota.
void reservation_take(struct turn_shard *s, uint32_t slot);
// reservation_take(), and releases its quota.
void reservation_end(struct turn_shard *s, uint32_t slot);
// reservation_end(), and frees its port.
void reservation_lapse(struct turn_shard *s, uint32_t slot);
// Restores the reservation of a record, if there is still time and room for it.
bool reservation_restore(struct adopt *d, const struct state_alloc *r);
