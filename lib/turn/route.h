// SPDX-License-Identifier: BSD-3-Clause
// Definitions of route.c, which makes plans for datagrams, for the rest of lib/turn.
#pragma once

#include "turn.h"
#include "turn_drop.h"

// A flow: its kind in the top 2 bits, an index in the rest.
#define FLOW_KIND (UINT32_C(3) << 30)
#define FLOW_CLIENT (UINT32_C(0) << 30) // index = slot: to the allocation's client
#define FLOW_PEER (UINT32_C(1) << 30) // index = slot: to the peer of the line's copy
#define FLOW_CHANNEL (UINT32_C(2) << 30) // index = channel: to the channel's peer

// Makes *plan drop the datagram for this reason.
void route_drop(struct turn_plan *plan, enum turn_drop reason);
