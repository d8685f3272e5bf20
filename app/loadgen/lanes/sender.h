// SPDX-License-Identifier: BSD-3-Clause
// The clients of one lane, and what it keeps of them.
#pragma once

#include "client/client.h"
#include "lanes/headers.h"
#include "measure/pacer.h"

struct lane;

// What a sender keeps of each of its clients.
struct flow {
	struct path up; // client to server (MODE_DIRECT: to the peer)
	struct path down; // peer to relayed transport address (MODE_DIRECT: to the client)
	struct endpoint peer;
	uint32_t seq_up, seq_down; // next numbers
	uint16_t channel;
};

struct sender {
	uint32_t number, first, step, nb_flows; // flow k is client first + k * step
	struct clients *clients; // NULL in modes without a server's state
	struct flow *flow;
	uint32_t *ready; // flows that take part in this trial
	uint32_t nb_ready;
	uint32_t turn; // index into ready: whose turn it is
	uint32_t run; // datagrams left of its turn
	uint32_t cursor; // where the search for a client to start or release goes on
	uint8_t size; // index of the payload size in use
	uint8_t way; // enum direction in use
	struct pacer pacer; // of the phase
	double rate; // of the engine, as last seen in traffic
	uint64_t missed; // of the pacer's, what is counted already
	uint64_t ticked_ms;
	uint32_t trial, phase; // as last seen
};

struct sender *sender_create(struct lane *l, unsigned int number);
void sender_free(struct sender *s);
// One round; true when there was something to do.
bool sender_round(struct lane *l);
