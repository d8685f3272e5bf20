// SPDX-License-Identifier: BSD-3-Clause
// What TCP allocations (RFC 6062) relay, as usage and rates know it. Stream threads carry the
// bytes. They take them from the rates before they read, and note them where the shard's worker
// finds them (turn_tcp_take, turn_tcp_moved). No message is sent for it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct tcp_place;
struct turn_shard;

// Begins with the allocation that a place is about to have; slot is set.
void tcp_usage_begin(struct turn_shard *s, struct tcp_place *p);
// Adds to the usage of a TCP allocation what its threads have noted, when its place has it no more:
// threads note nothing of it from now on.
void tcp_usage_end(struct turn_shard *s, uint32_t slot);
// What they have noted and tcp_usage_tick has not added; 0 for an allocation of UDP.
uint64_t tcp_usage_noted(const struct turn_shard *s, uint32_t slot, unsigned int leg);
// Makes the rates of the shard's policy and meters hold. Accounts follow in tcp_usage_tick.
void tcp_usage_policy(struct turn_shard *s);
// Looks at some of the places. True: there is more to be done at once.
bool tcp_usage_tick(struct turn_shard *s);
