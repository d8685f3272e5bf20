// SPDX-License-Identifier: BSD-3-Clause
// The state of a receiving lane: the counts of each of its flows.
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

// Message from the receiver that polled a datagram to the receiver that keeps its flow.
struct arrival {
	uint32_t flow, seq, trial, direction;
};

struct receiver {
	uint32_t number;
	uint32_t trial;
	struct track *track[2]; // one entry per flow kept here: [0] up, [1] down or echo
	struct hist *latency[DIRECTION_NB];
	// one per other receiver; elements struct arrival
	struct rte_ring *arrivals[CONFIG_LANES_MAX];
	struct rte_ring *control[CONFIG_LANES_MAX]; // one to each sender; elements mbufs
	struct reflector *reflector;
};

// Makes receiver `number` of lane l; NULL when memory ran out. Main lcore.
struct receiver *receiver_create(struct lane *l, unsigned int number);
// Makes its rings to the other receivers and to the senders. 0, or -1. Main lcore.
int receiver_connect(struct receiver *r, struct engine *e);
void receiver_free(struct receiver *r);
// Runs one round: reads every queue. True when there was something to do.
bool receiver_round(struct lane *l);
// Processes a message from the server to client i. m holds just the message, without headers.
// Consumes m.
void receiver_message(struct lane *l, uint32_t i, struct rte_mbuf *m);
