// SPDX-License-Identifier: BSD-3-Clause
// Addresses that the programs of a packet port read from memory, since the network may give others
// while they run. Private to lib/port.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct addr;

// At most one of each family. An address of IPv4 is the last word; words are in host byte order.
struct packet_moving {
	uint32_t addr[2][4]; // [is_v4]; 0 = none
};

// Writes an address. Programs that run meanwhile may see a part of it.
void packet_moving_put(struct packet_moving *m, const struct addr *a);
// The bytes from its beginning to word i of the address of a family.
static inline int32_t packet_moving_at(bool is_v4, unsigned int i)
{
	return (int32_t)(sizeof(uint32_t) * (4u * is_v4 + i));
}
