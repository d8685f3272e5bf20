// SPDX-License-Identifier: BSD-3-Clause
// From a datagram to a plan: what route.c does for others of lib/turn.
#pragma once

#include "turn.h"
#include "turn_drop.h"

// Flows: a kind in the top bits, an index below.
#define FLOW_KIND (UINT32_C(3) << 30)
#define FLOW_CLIENT (UINT32_C(0) << 30) // slot: to its client
#define FLOW_PEER (UINT32_C(1) << 30) // slot: to the peer of the copy in its line
#define FLOW_CHANNEL (UINT32_C(2) << 30) // channel: to its peer

// Longest datagram in a Data indication: its length field counts attributes and padding in 16 bits.
#define TURN_DATA_MAX (UINT16_MAX - 64)
// Front of the Data indication for a peer's datagram; returns its length.
uint16_t route_data_indication(struct turn_shard *s, const struct turn_view *v, uint8_t *front);

void route_drop(struct turn_plan *plan, enum turn_drop reason);
