// SPDX-License-Identifier: BSD-3-Clause
// hops.c: what a relayed datagram has left of its hops when it goes to a client that has moved.
#pragma once

#include <stdbool.h>

struct rte_mbuf;
struct turn_view;

// Takes hops from a peer's datagram, in its frame, so that it reaches the client with HOPS_MOVED
// fewer than it came with, or than HOPS_MOST. Two servers that are each other's peers can be made a
// cycle by a client that moves to the relayed address of the other one: what goes round there ends
// after 14 datagrams, and not after 64 or 255. It needs a line that has no note on the way to its
// client (turn_has_roamed), as relaying by line takes one hop. False when it has no hop left, which
// nobody asks of a plain frame later.
bool hops_spend(struct rte_mbuf *m, const struct turn_view *v);
