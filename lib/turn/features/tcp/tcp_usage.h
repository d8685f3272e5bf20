// SPDX-License-Identifier: BSD-3-Clause
// Usage of TCP allocations (RFC 6062). Stream threads relay the bytes. They draw credit before they
// read, and note the bytes in memory that the shard's worker reads (turn_tcp_take, turn_tcp_moved),
// without any message.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct tcp_port;
struct turn_shard;
struct turn_usage;

// Begins the counts of the allocation that a port is about to get; slot is set.
void tcp_usage_begin(struct turn_shard *s, struct tcp_port *p);
// Adds the noted bytes to the usage of a TCP allocation that its port no longer has: threads note
// nothing for it from now on.
void tcp_usage_end(struct turn_shard *s, uint32_t slot);
// Adds the bytes of a TCP allocation that are noted but not yet added by tcp_usage_tick.
void tcp_usage_show(const struct turn_shard *s, uint32_t slot, struct turn_usage *out);
// Adds the noted bytes of some of the ports. False: nothing is left to do at once.
bool tcp_usage_tick(struct turn_shard *s);
