// SPDX-License-Identifier: BSD-3-Clause
// Queries of the relay map inside lib/turn; turn_relay_map.h has the others.
#pragma once

#include "turn_features.h"
#include "turn_relay_map.h"

struct vacancy;

// The slots of a worker below this number are IPv4, the others IPv6. The parity of a slot is that
// of its port, and slot ^ 1 is the other port of its pair.
uint32_t relay_map_slots_v4(const struct turn_relay_map *m, unsigned int worker);
// True if allocations share relay ports, so that no slot has one of its own.
bool relay_map_shares(const struct turn_relay_map *m);
// The maps that features have (TURN_MAPS), or NULL: relay_map_shared and so on.
#define X(type, field, make, free, home, slots) \
	const type *relay_map_##field(const struct turn_relay_map *m);
TURN_MAPS(X)
#undef X
// Number of ports of a family that all workers together can allocate. 0 for shared ports.
uint32_t relay_map_ports(const struct turn_relay_map *m, bool is_v4);
// The vacancies of each worker, by worker. The map is shared, so all workers see the same memory.
struct vacancy *relay_map_vacancies(const struct turn_relay_map *m);
// True if a worker has a relay address of a family that this box still has; always true with shared
// ports. Any thread.
bool relay_map_living(const struct turn_relay_map *m, unsigned int worker, bool is_v4);
