// SPDX-License-Identifier: BSD-3-Clause
// half_open.c: the handshakes of DTLS that a worker has under way, oldest first. There are so many
// places, of which an IPv6 /48 may have half: one site may have all of its addresses. Worker lcore.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HALF_OPEN_NETWORKS 1024 // places that networks share by a keyed hash

struct addr;
struct session;
struct worker;

struct half_open {
	uint32_t max;
	uint32_t oldest, youngest; // sessions
	uint16_t of_network[HALF_OPEN_NETWORKS]; // handshakes
};

void half_open_init(struct half_open *h, uint32_t max);
// Whether a client may begin a handshake. Past the places that there are the oldest of all gives
// way for it, past those of its network the oldest of all if that is of the network, too; either
// once it has had time to be completed.
bool half_open_room(struct worker *w, const struct addr *client);
// Adds a session that has begun a handshake, and removes it when that is over.
void half_open_add(struct worker *w, struct session *c);
void half_open_drop(struct worker *w, const struct session *c);
