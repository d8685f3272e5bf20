// SPDX-License-Identifier: BSD-3-Clause
// ICMP errors about relayed datagrams (RFC 8656 section 11.5). PURE; only the shard's own lcore may
// call these functions.
#pragma once

#include "addr.h"
#include "turn_drop.h"

struct turn_shard;

// Maximum length of a Data indication with XOR-PEER-ADDRESS and ICMP.
#define TURN_ICMP_LEN_MAX 56

// An error about a datagram that one of our relayed transport addresses may have sent.
struct turn_icmp {
	struct endpoint relay, peer; // source and destination of the quoted datagram
	// The result of turn_relay_map_home for relay. turn_icmp_judge replaces the number of a
	// shared address by the allocation's slot.
	uint32_t slot;
	uint32_t data; // MTU of the next hop, host order; 0 for errors without an MTU
	uint8_t type, code;
};

// Checks an error. TURN_OK: the client of e->slot must be notified, if turn_icmp_tells and
// turn_icmp_allows. Else the reason: there is no live allocation, relay is not the address that
// this peer sees, or the peer's address has no live permission.
enum turn_drop turn_icmp_judge(struct turn_shard *s, struct turn_icmp *e);
// True if the client of a live allocation can be expected to understand the indication (icmp.tell).
// Some older clients stop reading at it, because it has no DATA.
bool turn_icmp_tells(const struct turn_shard *s, uint32_t slot);
// Writes the Data indication, without DATA, and returns its length: 44 or 56. Call it after
// turn_icmp_judge has returned TURN_OK.
uint16_t turn_icmp_indication(
	struct turn_shard *s, const struct turn_icmp *e, uint8_t out[TURN_ICMP_LEN_MAX]);
// A keyed hash of the user who owns a live allocation; equal for all allocations of a user.
uint64_t turn_icmp_user(const struct turn_shard *s, uint32_t slot);
// The sibling in a client's dual allocation, or TURN_NONE.
uint32_t turn_icmp_sibling(const struct turn_shard *s, uint32_t slot);
// Takes one error from limits.icmp of a live allocation; false if the limit is reached.
bool turn_icmp_allows(struct turn_shard *s, uint32_t slot);
