// SPDX-License-Identifier: BSD-3-Clause
// Shared by client.c (the states), client_request.c (one request), client_auth.c (who asks) and
// client_population.c (memory).
#pragma once

#include "client/client.h"
#include "wheel.h"

#define NAME_SIZE (CONFIG_NAME_MAX + 32) // user name between expiry and number
#define ALGORITHMS_MAX 64 // bytes of PASSWORD-ALGORITHMS; both there are take 8
#define NEVER UINT64_MAX

struct clients {
	const struct config *config;
	struct client *client; // count of them, as all arrays here
	uint32_t first, step, count;
	struct stun_crypto *crypto;
	struct csprng *rng;
	void (*answered)(void *ctx, enum stun_method method, uint64_t ms);
	void *ctx;
	struct client_stats stats;
	// One node a client: its request under way, or what is due next.
	struct wheel wheel;
	struct wheel_node *node;
	// what every request asks
	size_t message_max; // by the MTU
	bool relay_v4;
	uint8_t family; // REQUESTED-ADDRESS-FAMILY; 0 = not sent
	// who asks
	enum stun_algorithm alg;
	bool named; // there are credentials
	char name[NAME_SIZE]; // without the number of user_per_client
	struct stun_key key; // of all clients; len 0 = none yet
	uint8_t (*keys)[STUN_KEY_MAX]; // of each client, with user_per_client; else NULL
	// what the server has told all of them
	uint16_t realm_len; // 0 = nothing yet
	char realm[STUN_TEXT_MAX + 1]; // with a NUL
	uint32_t linger_ms; // how long it says 437 after it has deleted an allocation, at least
	uint16_t algorithms_len; // 0 = none, or not wanted
	uint8_t algorithms[ALGORITHMS_MAX];
	// Nonces, nonce_slot bytes each: widened in place, up to NONCE_SLOT_MAX, when a longer one
	// comes. Reserved at that size; the pages behind what is used stay untouched.
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

// Number of a client over all populations.
static inline uint32_t client_number(const struct clients *p, uint32_t i)
{
	return p->first + i * p->step;
}

// --- client_request.c ----------------------------------------------------------------------------

// Begins a request of client i (a Refresh deletes when cl->deleting) and arms its timer. The length
// of what is to be sent, 0 when it cannot be made (nothing is under way then).
size_t request_begin(
	struct clients *p, uint32_t i, enum stun_method method, uint64_t now_ms, uint8_t *out);
// The same request once more after a challenge, as a new transaction.
size_t request_renew(struct clients *p, uint32_t i, uint64_t now_ms, uint8_t *out);
// Time to transmit again: the length, or 0 when it has been transmitted often enough.
size_t request_again(struct clients *p, uint32_t i, uint64_t now_ms, uint8_t *out);
// Whether a message is an answer to the request under way.
bool request_matches(const struct client *cl, const struct stun_msg *m);
// It has been answered, or is given up: nothing is under way, and no timer runs.
void request_end(struct clients *p, uint32_t i);
// Arms the timer of client i.
void request_timer(struct clients *p, uint32_t i, uint64_t when_ms);

// --- client_auth.c -------------------------------------------------------------------------------

// Names, and room for the keys and nonces of count clients. False when memory ran out.
bool auth_init(struct clients *p, uint64_t wall_s);
void auth_free(struct clients *p);
// Whether client i can sign: it has a key and a nonce.
bool auth_ready(const struct clients *p, uint32_t i);
// Takes realm, nonce and algorithms of a 401 or 438 and makes the key. CLIENT_NB_FAULTS when client
// i can sign now, else what is wrong with the challenge (of which nothing is kept then).
enum client_fault auth_challenge(
	struct clients *p, uint32_t i, const struct stun_msg *m, unsigned int code);
// Appends the credentials and the integrity of client i.
void auth_sign(struct clients *p, uint32_t i, struct stun_writer *w);
// Whether an answer to the signed request of client i is the server's: false when it is to be
// ignored. code: of an error response, 0 when it has none.
bool auth_verify(const struct clients *p, uint32_t i, const struct stun_msg *m, unsigned int code);
