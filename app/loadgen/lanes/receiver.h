// SPDX-License-Identifier: BSD-3-Clause
// What a lane that receives keeps.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "measure/hist.h"
#include "measure/track.h"
#include "options/config.h"

struct engine;
struct lane;

// From the receiver that polled a datagram to the one that keeps its flow.
struct arrival {
	uint32_t flow, seq, trial, direction;
};

struct receiver {
	uint32_t number;
	uint32_t trial;
	struct track *track[2]; // of the flows kept here: up, and down or echo
	struct hist *latency[DIRECTION_NB];
	struct rte_ring *from[CONFIG_LANES_MAX]; // struct arrival, of each other receiver
	struct rte_ring *control[CONFIG_LANES_MAX]; // mbufs, to each sender
	struct reflector *reflector;
};

struct receiver *receiver_create(struct lane *l, unsigned int number);
int receiver_connect(struct receiver *r, struct engine *e);
void receiver_free(struct receiver *r);
bool receiver_round(struct lane *l);
// A message of the server to client i. Consumes m, which is nothing but the message.
void receiver_message(struct lane *l, uint32_t i, struct rte_mbuf *m);
