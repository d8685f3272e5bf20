// SPDX-License-Identifier: BSD-3-Clause
// Limits the TTL of a relayed datagram to a client that has moved.
#pragma once

#include <stdbool.h>

struct rte_mbuf;
struct turn_view;

// Lowers the TTL or hop limit of a peer's datagram, in its frame, so that the client receives the
// value on arrival, or HOPS_MOST if that is less, minus HOPS_MOVED. Two servers that are each
// other's peers can form a loop, if a client moves to the relayed address on the other server: a
// datagram in that loop then ends after 14 passes, and not after 64 or 255. The line must have no
// note of the next hop to its client (turn_has_roamed), because relaying by line takes one hop.
// False if no hop is left; the TTL of a plain frame is not checked later.
bool hops_spend(struct rte_mbuf *m, const struct turn_view *v);
