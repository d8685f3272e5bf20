// SPDX-License-Identifier: BSD-3-Clause
// A population: all clients of one sender. client.h describes what each of them does.
#pragma once

#include "client/client.h"
#include "csprng.h"

struct clients_params {
	const struct config *config; // must outlive the population
	// The population owns `count` clients, which may be 0: the numbers first, first + step, ...
	// A client's number decides its address (side_host), its peer (modulo the number of peers),
	// its channel, and with user_per_client the number appended to its name.
	uint32_t first, step, count;
	struct csprng *rng; // the lcore's generator, for transaction ids
	uint64_t now_ms; // monotonic clock
	uint64_t wall_s; // Unix time at start: a REST name expires one day + lifetime after it
	// Called for every accepted answer with the ms since its request was first sent. May be
	// NULL.
	void (*answered)(void *ctx, enum stun_method method, uint64_t ms);
	void *ctx;
};

// Allocates all memory that the population will ever use; NULL when memory runs out or libcrypto
// fails. The address space for nonces is reserved at their largest size, but costs memory only when
// used. A client takes 216 bytes with nonces of up to 64 bytes, 916 bytes with the longest nonces,
// and 32 bytes more with a name of its own.
struct clients *clients_create(const struct clients_params *params);
void clients_free(struct clients *p);
// Here and below, i is an index into the population, less than its count.
struct client *clients_at(struct clients *p, uint32_t i);
const struct client_stats *clients_stats(const struct clients *p);
