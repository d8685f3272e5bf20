// SPDX-License-Identifier: BSD-3-Clause
// Rates of relayed datagrams (limits.rates) in the data path: memory of the meters, and drops of
// datagrams that exceed a rate.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "turn_config.h"
#include "turn_meter.h"

struct conf;
struct dp;
struct rte_mbuf;
struct turn_relay_map;
struct turn_view;
struct worker;

// The management lcore makes these when a configuration first limits a rate. NULL until then.
struct metering {
	struct turn_accounts *accounts; // atomics and locks inside; all workers write it
	struct turn_meters *meters[TURN_WORKERS_MAX]; // one per worker
};

// Bytes of EAL memory that meters need for a configuration; 0 if it limits no rate.
size_t metering_size(const struct conf *c, const struct turn_relay_map *map);
// Makes the meters of a worker, if the configuration limits a rate. Returns 0 or -ENOMEM.
int metering_make(struct worker *w);
// Makes the meters of all workers for a reload, if the new configuration limits a rate and there
// are no meters yet. They stay until metering_free. Management lcore, before workers adopt the
// policy.
bool metering_begin(
	struct dp *d, const struct conf *c, const struct conf *before, char *error, size_t len);
void metering_free(struct dp *d);
// Makes the worker use its meters, if there are any, according to the policy of its shard. Called
// by the worker between two rounds, or by the thread that makes the worker.
void metering_take(struct worker *w);

// The slow path of meter_pay, for a datagram whose cost turn_meter_take has refused. This function
// and the next ones implement path/meter.h, and need a worker with meters.
bool metering_asks(struct worker *w, struct rte_mbuf *m, const struct turn_view *v, uint64_t cost);
unsigned int metering_take_leg(const struct worker *w, unsigned int leg, unsigned int start);
void metering_give_leg(struct worker *w, unsigned int leg, unsigned int start, unsigned int stop);
bool metering_take_more(
	struct worker *w, uint32_t slot, unsigned int leg, uint32_t datagrams, uint32_t bytes);
void metering_give_more(
	struct worker *w, uint32_t slot, unsigned int leg, uint32_t datagrams, uint32_t bytes);
