// SPDX-License-Identifier: BSD-3-Clause
// The part of TCP allocations (RFC 6062) that lib/dp needs. A TCP allocation has permissions, a
// lifetime and a quota like any other; its sockets belong to lib/stream.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "turn_order.h"

struct turn_policy;
struct turn_shard;
struct turn_side;

// One direction of an allocation's relayed data.
struct turn_tcp_way {
	uint64_t allocation;
	uint32_t port_index;
	uint8_t leg; // enum turn_leg
};

struct turn_tcp_bytes {
	uint32_t taken; // taken from the rates by turn_tcp_take
	uint32_t moved; // relayed; the excess over `taken` is owed
};

// True if the allocation of an order still lives. Any thread.
bool turn_tcp_table_lives(const struct turn_shard *s, uint32_t port_index, uint64_t allocation);
// True if an endpoint may be a peer of allocations of a realm. p is a shard's policy. Any thread.
bool turn_tcp_may_be_peer(const struct turn_policy *p, uint8_t realm, const struct endpoint *peer);
// Sets the number of connections that the allocation has now. Called by the thread that counts
// them.
void turn_tcp_table_counted(
	struct turn_shard *s, uint32_t port_index, uint64_t allocation, uint32_t connections);
// Takes bytes that are about to be relayed from the rates of the allocation, its user and its realm
// (limits.rates), up to want. 0: there is no credit at present, or the allocation has ended. now_ms
// is the worker's clock. Any thread, as for turn_tcp_moved.
uint32_t turn_tcp_take(
	struct turn_shard *s, const struct turn_tcp_way *w, uint32_t want, uint64_t now_ms);
// Counts the bytes that are about to be relayed for the allocation, and returns the rest of the
// credit. False: the allocation has ended, nothing was counted, and so nothing may be relayed.
bool turn_tcp_moved(struct turn_shard *s, const struct turn_tcp_way *w,
	const struct turn_tcp_bytes *n, uint64_t now_ms);
// Ends an allocation whose port could not be opened. Worker's lcore.
void turn_tcp_ended(struct turn_shard *s, uint32_t port_index, uint64_t allocation);
// Judges a peer that has connected to the relayed transport address of an allocation (RFC 6062
// 5.3): fills side->order with an ADMIT, and side->front with the ConnectionAttempt for its client,
// order.len[TURN_ANSWER_DONE] bytes. order.id is 0 if the peer has no permission. Worker's lcore.
void turn_tcp_attempt(struct turn_shard *s, uint32_t port_index, uint64_t allocation,
	const struct endpoint *peer, struct turn_side *side);
