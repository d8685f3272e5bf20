// SPDX-License-Identifier: BSD-3-Clause
// Shared by the tests of the generator's clients: a population with a fake clock and a seeded rng,
// and a server with scripted answers. Asserts with cmocka; after every call the counters of the
// states have to add up, and each datagram sent has to be a STUN request that fits the MTU.
// world_open(&w, &config, 1, 1); world_start(&w, 0); world_challenge(&w, 401); world_accept(&w);
#pragma once

#include "client/clients.h"
#include "test.h"
#include "test_rand.h"

#define WORLD_NOW_MS 1000000 // that of turn_fixture.h
#define WORLD_WALL_S 1700000000
#define WORLD_REALM "turn.test"

// The clients, their clock, and the server that the test plays.
struct loadgen_world {
	struct config config;
	struct test_rand rand;
	struct csprng rng;
	struct clients *clients;
	uint32_t count; // number of clients
	uint64_t now_ms;
	uint64_t answers, last_ms; // calls of the hook, and the time of its last call
	// the last datagram, and the client that sent it; len 0 = no datagram
	uint32_t i;
	size_t len;
	uint8_t out[CLIENT_MESSAGE_MAX];
	struct stun_msg request; // the datagram, parsed
	// properties of the scripted server; tests may change them
	struct stun_crypto *crypto;
	const char *realm, *password;
	enum stun_algorithm alg;
	uint8_t nonce[1024], algorithms[128];
	size_t nonce_len, algorithms_len; // 0 = challenges leave it out
	uint32_t lifetime_s;
	struct endpoint relay;
	struct stun_writer w; // the answer under construction
	uint8_t answer[4096];
};

// 10.99.0.1 serves clients 198.51.100.2-5, ports 10000-59999, with peers 10.99.0.50, ports
// 7000-7999; user ivan/pw, SHA-1, lifetime 600 s, MTU 1500.
struct config world_config(enum mode mode);
// Both families of the three parties as text; peer NULL = no peers.
void world_addrs(struct config *c, const char *server, const char *client, const char *peer);

// Opens a world with clients 0 to count - 1.
void world_open(
	struct loadgen_world *w, const struct config *config, uint32_t count, uint64_t seed);
void world_close(struct loadgen_world *w);
// Teardown of a test: closes the world that *state points at.
int world_teardown(void **state);

void world_start(struct loadgen_world *w, uint32_t i);
void world_release(struct loadgen_world *w, uint32_t i);
// One call of clients_tick().
void world_tick(struct loadgen_world *w);
// Ticks now and after each step, for ms; stops at the first datagram. True if there was one.
bool world_wait(struct loadgen_world *w, uint64_t ms, uint64_t step_ms);
// Hands a datagram to client i, in a block of exactly its length.
void world_feed(struct loadgen_world *w, uint32_t i, const void *data, size_t len);

const struct client_stats *world_stats(const struct loadgen_world *w);
enum client_state world_state(const struct loadgen_world *w, uint32_t i);
// Asserts that client i has failed for this reason, and that there was no other failure.
void assert_failed(const struct loadgen_world *w, uint32_t i, enum client_fault fault);

// --- the scripted server -------------------------------------------------------------------------

// True if the last request is signed; then asserts that its credentials are right.
bool world_signed(struct loadgen_world *w);
// Begins an answer to the last request in w->w: put the attributes of the method there.
void world_begin(struct loadgen_world *w, enum stun_class cls);
// Signs the answer, with the password of the client.
void world_sign(struct loadgen_world *w);
// Sends the answer in w->w to the client that asked.
void world_answer(struct loadgen_world *w);
// Sends a challenge with REALM, NONCE and PASSWORD-ALGORITHMS.
void world_challenge(struct loadgen_world *w, unsigned int code);
// Sends the usual success response; signed if the request was.
void world_accept(struct loadgen_world *w);
void world_put_success(struct loadgen_world *w);
// Sends an error response; signed if the request was.
void world_refuse(struct loadgen_world *w, unsigned int code);
// Takes a client from its start to READY, with an authenticated server.
void world_ready(struct loadgen_world *w, uint32_t i);
