// SPDX-License-Identifier: BSD-3-Clause
// Additions to the public part of lib/turn for shared relay ports (lib/features/meson.build).
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct turn_config;

#define TURN_SHARED_MAX 4096 // shared addresses
#define TURN_PEER_BYTES 78 // memory of a peer on a shared address, including its table entries

struct turn_shared {
	bool enabled; // allocations share relay ports
	uint32_t peers; // on a shared address, per allocation; at most UINT16_MAX
	// Percent of the shared addresses on which a user may have one and the same peer.
	uint32_t peer_share;
};

// Number of slots that each worker has for limits.allocations with shared ports: its share and half
// as much again, because clients are not distributed evenly.
uint32_t turn_shared_slots(const struct turn_config *c);

#define SHARED_FIELDS(X) X(struct turn_shared, shared)
#define SHARED_POOLS(X) X(endpoints, "peers", shared.enabled, TURN_PEER_BYTES, 2)
// Number of the shared address of a peer's datagram; turn_route_begin writes it.
#define SHARED_VIEW(X) X(uint32_t, shared)
