// SPDX-License-Identifier: BSD-3-Clause
// What route.c, which makes plans for datagrams, offers to the rest of lib/turn.
#pragma once

#include "turn.h"
#include "turn_drop.h"

// A flow: its kind in the top 2 bits, an index in the rest.
#define FLOW_KIND (UINT32_C(3) << 30)
#define FLOW_CLIENT (UINT32_C(0) << 30) // index = slot: to its client
#define FLOW_PEER (UINT32_C(1) << 30) // index = slot: to the peer that its line has a copy of
#define FLOW_CHANNEL (UINT32_C(2) << 30) // index = channel: to its peer

// Longest datagram that fits a Data indication, whose 16-bit length field counts attributes and
// padding.
#define TURN_DATA_MAX (UINT16_MAX - 64)
// Writes to front (48 bytes at most) what goes before the data of a peer's datagram *v in a Data
// indication; returns its length, 36 or 48.
uint16_t route_data_indication(struct turn_shard *s, const struct turn_view *v, uint8_t *front);
// Writes a transaction id that nobody can foresee, for an indication of ours (RFC 8489 section 5).
void route_indication_tid(struct turn_shard *s, uint8_t tid[16]);

// Makes *plan drop the datagram for this reason.
void route_drop(struct turn_plan *plan, enum turn_drop reason);
