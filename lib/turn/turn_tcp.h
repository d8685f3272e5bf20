// SPDX-License-Identifier: BSD-3-Clause
// TCP allocations (RFC 6062) as lib/dp needs to know them. The allocation is an allocation like
// others, with permissions, a lifetime and a place in quotas; sockets are lib/stream's.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "turn_order.h"

struct turn_policy;
struct turn_shard;
struct turn_side;

// One way of what an allocation relays.
struct turn_tcp_way {
	uint64_t allocation;
	uint32_t place;
	uint8_t leg; // enum turn_leg
};

struct turn_tcp_bytes {
	uint32_t taken; // of the rates, by turn_tcp_take
	uint32_t moved; // and relayed; may be more, which then is owed
};

// Whether the allocation of an order still lives. Any thread.
bool turn_tcp_table_lives(const struct turn_shard *s, uint32_t place, uint64_t allocation);
// Whether an endpoint may be a peer of allocations of a realm. p is a shard's policy. Any thread.
bool turn_tcp_may_be_peer(const struct turn_policy *p, uint8_t realm, const struct endpoint *peer);
// Notes how many connections the allocation has now. The thread that counts them.
void turn_tcp_table_counted(
	struct turn_shard *s, uint32_t place, uint64_t allocation, uint32_t connections);
// Takes bytes that are about to be relayed from the rates of the allocation, its user and its realm
// (limits.rates), up to want. 0: there is nothing left for now, or the allocation has ended. now_ms
// is the worker's clock. Any thread, as turn_tcp_moved.
uint32_t turn_tcp_take(
	struct turn_shard *s, const struct turn_tcp_way *w, uint32_t want, uint64_t now_ms);
// Counts what is about to be relayed of that as the allocation's, and gives back the rest. False:
// the allocation has ended, nothing was counted, and so nothing may be relayed.
bool turn_tcp_moved(struct turn_shard *s, const struct turn_tcp_way *w,
	const struct turn_tcp_bytes *n, uint64_t now_ms);
// Ends an allocation whose port could not be opened. The worker.
void turn_tcp_ended(struct turn_shard *s, uint32_t place, uint64_t allocation);
// Judges a peer that has connected to the relayed transport address of an allocation (RFC 6062
// 5.3): fills side->order with an ADMIT, and side->front with the ConnectionAttempt that its client
// is to get; order.len[TURN_ANSWER_DONE] bytes. order.id 0: the peer has no permission. The worker.
void turn_tcp_attempt(struct turn_shard *s, uint32_t place, uint64_t allocation,
	const struct endpoint *peer, struct turn_side *side);
