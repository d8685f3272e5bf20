// SPDX-License-Identifier: BSD-3-Clause
// The frames that a replay port receives, as if from clients and peers: a template for each
// direction, and for each flow a patch of 16 bytes that serves both directions. Flows are visited
// in a scrambled order, each once in a period.
#pragma once

#include "flows.h"
#include "options.h"
#include "replay.h"

struct visits {
	struct port_replay_template up, down; // up: client to peer; down: peer to client
	uint8_t (*patch)[PORT_REPLAY_PATCH_LEN]; // one per flow, in the order of the visits
	uint32_t nb;
};

// A receive queue of a replay port.
struct visits_queue {
	uint32_t index;
	int socket; // of the lcore that polls it
	const uint8_t *mac; // of the port
};

// Makes templates and patches for the flows that a queue receives, whose relays are known: those of
// worker q->index, which are the flows index, index + o->workers, ... With o->handover it receives
// an equal share of the flows of every other worker instead. Each flow arrives on one queue.
// Returns 0 or -ENOMEM. Takes memory from EAL (hugepages if it has them).
int visits_make(struct visits *v, const struct flows *f, const struct options *o,
	const struct visits_queue *q);
void visits_free(struct visits *v);
// Gives the visits to a queue of a replay port, for the configured direction. Returns 0 or -errno.
int visits_replay(
	const struct visits *v, const struct options *o, struct port *port, uint16_t queue);
// Returns the megabytes that visits_make needs.
uint32_t visits_memory_mb(uint32_t flows);

// Writes the media payload of a direction, size bytes.
void visits_payload(bool up, uint8_t *buf, uint16_t size);

// MAC of the gateway, from which all frames come.
extern const uint8_t visits_gateway_mac[6];

// Returns one number after the other of a permutation of 0..nb-1. Start with *state = 0; after nb
// calls the permutation begins again.
uint32_t visits_order(uint32_t *state, uint32_t nb);
