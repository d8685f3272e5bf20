// SPDX-License-Identifier: BSD-3-Clause
// What only lib/turn asks the relay map; turn_relay_map.h has the rest.
#pragma once

#include "turn_relay_map.h"

struct shared_map;

// The slots of a worker below this number are IPv4, the others IPv6. The parity of a slot is that
// of its port, and slot ^ 1 is the other port of its pair.
uint32_t relay_map_slots_v4(const struct turn_relay_map *m, unsigned int worker);
// The map of shared relay ports; NULL when every allocation has a relayed transport address of its
// own.
const struct shared_map *relay_map_shared(const struct turn_relay_map *m);
