// SPDX-License-Identifier: BSD-3-Clause
// The clients of one lane, and the lane's state of each of them.
#pragma once

#include "lanes/headers.h"
#include "measure/pacer.h"

struct clients;
struct engine;
struct lane;

// State of one client in its sender.
struct flow {
	struct path up; // client to server (MODE_DIRECT: to the peer)
	struct path down; // peer to relayed transport address (MODE_DIRECT: to the client)
	struct endpoint peer;
	uint32_t seq_up, seq_down; // sequence numbers of the next datagrams
	uint16_t channel; // channel number
};

struct sender {
	uint32_t number, first, step, nb_flows; // flow k is client first + k * step
	struct clients *clients; // NULL in modes that keep no state on a server
	struct flow *flow;
	uint32_t *ready; // flows that take part in this trial
	uint32_t nb_ready;
	uint32_t turn; // index into ready: the flow that sends now
	uint32_t run; // datagrams that it still sends before the next flow's turn
	uint32_t cursor; // flow at which the search for a client to start or release goes on
	uint8_t size; // index of the payload size in use
	uint8_t dir; // enum direction in use
	struct pacer pacer; // of the current phase
	double rate; // the engine's rate as last seen in traffic
	uint64_t missed; // the pacer's missed packets that are counted already
	uint64_t ticked_ms;
	uint32_t trial, phase; // the engine's values, as last seen
};

// Makes sender `number` of lane l; NULL when memory ran out. Main lcore.
struct sender *sender_create(struct lane *l, unsigned int number);
void sender_free(struct sender *s);
// Runs one round. True when there was something to do.
bool sender_round(struct lane *l);
// Returns when the senders began their phase (TSC, by their own clocks): the mean, weighted with
// each sender's share of the flows. rate * (t - this) is then the number of datagrams due by t.
// Without senders it returns e->since. Main lcore.
uint64_t sender_mean_start(const struct engine *e);
