// SPDX-License-Identifier: BSD-3-Clause
// The DTLS handshakes that a worker has in progress, oldest first. There is a maximum, of which one
// IPv6 /48 may have half, because one site may own all of its addresses. Worker lcore.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ilist.h"

#define HALF_OPEN_NETWORKS 1024 // counters that networks share by a keyed hash

struct addr;
struct session;
struct worker;

struct half_open {
	uint32_t max;
	struct ilist by_age; // sessions, oldest first
	uint16_t of_network[HALF_OPEN_NETWORKS]; // handshakes
};

void half_open_init(struct half_open *h, uint32_t max);
// True if a client may begin a handshake. If the limit of handshakes is reached, the oldest
// handshake is given up for it. If the client's network has half of all handshakes, the oldest
// handshake is given up only if it is from the same network. In both cases that handshake must have
// had its minimum time.
bool half_open_room(struct worker *w, const struct addr *client);
// Adds a session that has begun a handshake, and removes it when the handshake is over.
void half_open_add(struct worker *w, struct session *c);
void half_open_drop(struct worker *w, const struct session *c);
