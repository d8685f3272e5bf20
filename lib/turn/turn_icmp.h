// SPDX-License-Identifier: BSD-3-Clause
// ICMP errors about relayed datagrams (RFC 8656 section 11.5). PURE; only the shard's own lcore may
// call these functions.
#pragma once

#include "addr.h"
#include "turn_drop.h"

struct turn_shard;

// Bytes of a Data indication with XOR-PEER-ADDRESS and ICMP, at most.
#define TURN_ICMP_LEN_MAX 56

// An error about a datagram that a relayed transport address of ours may have sent.
struct turn_icmp {
	struct endpoint relay, peer; // where the datagram came from and went to, as it quotes them
	// What turn_relay_map_home says about relay. turn_icmp_judge puts the allocation's slot in
	// the place of the number of a shared address.
	uint32_t slot;
	uint32_t data; // MTU of the next hop, host order; 0 for errors that have none
	uint8_t type, code;
};

// Whether the client of an allocation is to be told, if turn_icmp_tells and turn_icmp_allows.
// TURN_OK, with e->slot; else the reason: there is no live allocation, relay is not what this peer
// sees of it, or the peer's address has no live permission.
enum turn_drop turn_icmp_judge(struct turn_shard *s, struct turn_icmp *e);
// Whether the client of a live allocation can be expected to know the indication (icmp.tell). There
// are older clients that stop reading at it, because it has no DATA.
bool turn_icmp_tells(const struct turn_shard *s, uint32_t slot);
// Writes the Data indication, without DATA, and returns its length: 44 or 56. turn_icmp_judge has
// returned TURN_OK.
uint16_t turn_icmp_indication(
	struct turn_shard *s, const struct turn_icmp *e, uint8_t out[TURN_ICMP_LEN_MAX]);
// Whose a live allocation is: a keyed hash, the same for all of a user's.
uint64_t turn_icmp_user(const struct turn_shard *s, uint32_t slot);
// The other one of a client's dual allocation, or TURN_NONE.
uint32_t turn_icmp_sibling(const struct turn_shard *s, uint32_t slot);
// Takes one from limits.icmp of a live allocation; false when there is none left.
bool turn_icmp_allows(struct turn_shard *s, uint32_t slot);
