// SPDX-License-Identifier: BSD-3-Clause
// What a replay port is given so that it sounds like clients and peers: a template for each
// direction, and for each flow a patch of 16 bytes that serves both. Flows are visited in a
// scrambled order, each once in a period.
#pragma once

#include "flows.h"
#include "options.h"
#include "replay.h"

struct visits {
	struct port_replay_template up, down; // client to peer, peer to client
	uint8_t (*patch)[PORT_REPLAY_PATCH_LEN]; // one a flow, in the order of the visits
	uint32_t nb;
};

// Makes templates and patches for every step-th of the flows, from first on, whose relays are
// known; the frames are to be received by a port with this MAC. -ENOMEM. Takes memory from EAL
// (hugepages where it has them).
int visits_make(struct visits *v, const struct flows *f, const struct options *o,
	const uint8_t port_mac[6], uint32_t first, uint32_t step);
void visits_free(struct visits *v);
// Gives them to a queue of a replay port, by the direction asked for. 0 or -errno.
int visits_replay(
	const struct visits *v, const struct options *o, struct port *port, uint16_t queue);
// Megabytes that visits_make takes.
uint32_t visits_memory_mb(uint32_t flows);

// The media payload of a direction: size bytes.
void visits_payload(bool up, uint8_t *buf, uint16_t size);

// MAC of the gateway, whence all frames come.
extern const uint8_t visits_gateway_mac[6];

// A permutation of 0..nb-1, told one by one: start with *state = 0. After nb calls it begins anew.
uint32_t visits_order(uint32_t *state, uint32_t nb);
