// SPDX-License-Identifier: BSD-3-Clause
// The contents of a population of clients. Only the files of client/ include it.
#pragma once

#include "client/client.h"
#include "csprng.h"
#include "wheel.h"

#define NAME_SIZE (CONFIG_NAME_MAX + 32) // "EXPIRY:" and the number of the client included
#define ALGORITHMS_MAX 64 // bytes of PASSWORD-ALGORITHMS; the two algorithms defined take 8
#define NEVER UINT64_MAX

struct clients {
	const struct config *config;
	struct client *client; // this and all arrays below have `count` entries
	uint32_t first, step, count;
	struct stun_crypto *crypto;
	struct csprng *rng;
	void (*answered)(void *ctx, enum stun_method method, uint64_t ms);
	void *ctx;
	struct client_stats stats;
	// One timer per client: for its request under way, or for the next refresh.
	struct wheel wheel;
	struct wheel_node *node;
	// needed by every request
	size_t message_max; // bytes of a request that fit into the MTU
	bool relay_v4; // the relayed transport addresses are IPv4
	uint8_t family; // REQUESTED-ADDRESS-FAMILY; 0 = not sent
	// credentials
	enum stun_algorithm alg;
	bool named; // the configuration has credentials
	char name[NAME_SIZE]; // without the number of user_per_client
	struct stun_key key; // shared by all clients; len 0 = none yet
	uint8_t (*keys)[STUN_KEY_MAX]; // one per client, with user_per_client; else NULL
	// sent by the server to the population
	uint16_t realm_len; // 0 = nothing yet
	char realm[STUN_TEXT_MAX + 1]; // with a NUL
	uint32_t linger_ms; // the server answers 437 for at least this time after a deletion
	uint16_t algorithms_len; // bytes; 0 = the server sent no list, or SHA-1 is used
	uint8_t algorithms[ALGORITHMS_MAX];
	// The nonces of all clients, nonce_slot bytes each. A longer nonce widens all slots in
	// place, up to NONCE_SLOT_MAX. The address space is reserved for that size; pages that are
	// not used yet stay untouched.
	uint8_t *nonces;
	size_t nonce_slot;
};

#define NONCE_SLOT_MIN 64
#define NONCE_SLOT_MAX 764
_Static_assert(NONCE_SLOT_MAX >= STUN_TEXT_MAX, "the longest nonce fits");

static inline void stat_add(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}

// Returns the number of a client, which is unique over all populations.
static inline uint32_t client_number(const struct clients *p, uint32_t i)
{
	return p->first + i * p->step;
}
