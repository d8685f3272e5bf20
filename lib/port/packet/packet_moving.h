// SPDX-License-Identifier: BSD-3-Clause
// Addresses that the programs of a packet port read from memory, because the network may change
// them while they run. Private to lib/port.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct addr;

// At most one of each family. An IPv4 address is in the last word; words are in host byte order.
struct packet_moving {
	uint32_t addr[2][4]; // [is_v4]; 0 = none
};

// Writes an address. Programs that run concurrently may see a part of it.
void packet_moving_put(struct packet_moving *m, const struct addr *a);
// Returns the offset of word i of the address of a family.
static inline int32_t packet_moving_at(bool is_v4, unsigned int i)
{
	return (int32_t)(sizeof(uint32_t) * (4u * is_v4 + i));
}
