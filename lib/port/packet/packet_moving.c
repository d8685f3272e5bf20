// SPDX-License-Identifier: BSD-3-Clause
// Writes the addresses that programs of a packet port read from memory.
#include "packet/packet_moving.h"

#include "addr.h"
#include "bytes.h"

void packet_moving_put(struct packet_moving *m, const struct addr *a)
{
	const bool is_v4 = addr_is_v4(a);

	for (unsigned int i = is_v4 ? 3 : 0; i < 4; i++)
		__atomic_store_n(&m->addr[is_v4][i], load_be32(a->b + 4 * i), __ATOMIC_RELAXED);
}
