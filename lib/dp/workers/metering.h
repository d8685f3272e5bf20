// SPDX-License-Identifier: BSD-3-Clause
// metering.c: rates of relayed datagrams (limits.rates), as far as the data path has to do with
// them: their memory, and the drop of what is past one.
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

// Bytes of EAL's memory that metering_create takes for a configuration; 0 where it limits no rate.
size_t metering_size(const struct conf *c, const struct turn_relay_map *map);
// Makes the meters of all workers that are made, where the configuration limits a rate and there
// are none yet. They stay until metering_free. 0, or -ENOMEM. Management lcore, before workers are
// asked to take the policy.
int metering_create(struct dp *d, const struct conf *c);
void metering_free(struct dp *d);
// Makes the worker use its meters, if there are any, as the policy of its shard says. The worker,
// between two rounds, or whoever makes the worker.
void metering_take(struct worker *w);

// Takes what the datagrams of a leg of the burst cost, from one on and in their order, as if the
// lines that were found for them vouched. Stops at the first that has to ask, or has no line.
// Returns how many have paid, those before `from` included. Who then relays fewer gives back the
// rest at once. A pass of its own costs a datagram less than a look at its meter on its way.
unsigned int metering_take_leg(const struct worker *w, unsigned int leg, unsigned int start);
// Gives back what datagrams [from, to) of a leg have paid.
void metering_give_leg(struct worker *w, unsigned int leg, unsigned int start, unsigned int stop);

// For a datagram that is about to be relayed by its line, when turn_meter_take has not taken its
// cost. True: it is taken now. False: the datagram is past a rate, counted for its allocation and
// dropped. The worker has meters.
bool metering_asks(struct worker *w, struct rte_mbuf *m, const struct turn_view *v, uint64_t cost);
