// SPDX-License-Identifier: BSD-3-Clause
// Rings between workers and the thread that asks about users.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "turn_config.h"
#include "turn_lookup.h"

struct conf;
struct dp;
struct parking;
struct rte_ring;
struct turn_relay_map;
struct worker;

// The part of struct dp.
struct lookups {
	bool on;
	int event; // eventfd, -1 = none
	uint32_t asleep; // the thread waits for event
	unsigned int next; // worker whose questions are taken next
	struct parking *parking[TURN_WORKERS_MAX]; // by worker
};

// The last question at a place that the thread has taken.
struct lookup_taken {
	uint64_t id;
	uint8_t ident[TURN_IDENT_LEN];
};

struct lookup_rings {
	struct lookup_taken *taken; // by place; only the thread uses it
	uint32_t nb_places;
	struct rte_ring *questions, *answers, *secrets;
};

// False, and a message, if users are looked up and the eventfd cannot be made.
bool lookup_rings_begin(
	struct dp *d, const struct conf *c, const struct conf *before, char *error, size_t len);
// Makes the rings of a worker. False without memory.
bool lookup_rings_make(struct lookup_rings *r, const struct conf *c, int socket);
void lookup_rings_free(struct lookup_rings *r);
size_t lookup_rings_size(const struct conf *c);
// turn_shard_params.ask; ctx is the worker.
bool lookup_rings_ask(void *ctx, const struct turn_lookup_question *q);
