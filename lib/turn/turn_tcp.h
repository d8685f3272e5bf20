// SPDX-License-Identifier: BSD-3-Clause
// TCP allocations (RFC 6062) as lib/dp needs to know them. The allocation is an allocation like
// others, with permissions, a lifetime and a place in quotas; sockets are lib/stream's.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "turn_order.h"

struct turn_shard;
struct turn_side;

// Whether the allocation of an order still lives. Any thread.
bool turn_tcp_table_lives(const struct turn_shard *s, uint32_t place, uint64_t allocation);
// Notes how many connections the allocation has now. The thread that counts them.
void turn_tcp_table_counted(
	struct turn_shard *s, uint32_t place, uint64_t allocation, uint32_t connections);
// Ends an allocation whose port could not be opened. The worker.
void turn_tcp_ended(struct turn_shard *s, uint32_t place, uint64_t allocation);
// Judges a peer that has connected to the relayed transport address of an allocation (RFC 6062
// 5.3): fills side->order with an ADMIT, and side->front with the ConnectionAttempt that its client
// is to get; order.len[TURN_ANSWER_DONE] bytes. order.id 0: the peer has no permission. The worker.
void turn_tcp_attempt(struct turn_shard *s, uint32_t place, uint64_t allocation,
	const struct endpoint *peer, struct turn_side *side);
