// SPDX-License-Identifier: BSD-3-Clause
// Rates of relayed datagrams (limits.rates) in the data path: memory of the meters, and drops of
// datagrams that exceed a rate.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "turn_meter.h"

struct conf;
struct dp;
struct rte_mbuf;
struct turn_relay_map;
struct turn_view;
struct worker;

// Bytes of EAL memory that metering_create needs for a configuration; 0 if it limits no rate.
size_t metering_size(const struct conf *c, const struct turn_relay_map *map);
// Makes the meters of all workers, if the configuration limits a rate and there are no meters yet.
// They stay until metering_free. Returns 0 or -ENOMEM. Management lcore, before workers adopt the
// policy.
int metering_create(struct dp *d, const struct conf *c);
void metering_free(struct dp *d);
// Makes the worker use its meters, if there are any, according to the policy of its shard. Called
// by the worker between two rounds, or by the thread that makes the worker.
void metering_take(struct worker *w);

// Charges the datagrams of a leg of the burst in advance, from index start on and in order, as if
// their lines vouched. Stops at the first one that needs metering_asks, or has no line. Returns the
// index of that one. If fewer datagrams are then relayed the caller gives the rest back at once. A
// separate pass costs a datagram less than reading its meter while it is relayed.
unsigned int metering_take_leg(const struct worker *w, unsigned int leg, unsigned int start);
// Gives back the charge of datagrams [start, stop) of a leg.
void metering_give_leg(struct worker *w, unsigned int leg, unsigned int start, unsigned int stop);

// For a datagram that will be relayed by its line, if turn_meter_take refused its cost. True if it
// is paid now. False if the datagram exceeds a rate; it has been counted for its allocation and
// dropped. The worker has meters.
bool metering_asks(struct worker *w, struct rte_mbuf *m, const struct turn_view *v, uint64_t cost);
