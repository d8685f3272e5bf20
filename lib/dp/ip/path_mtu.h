// SPDX-License-Identifier: BSD-3-Clause
// Path MTUs by flow.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pmtu.h"

#define PATH_MTU_BUCKETS 64 // users are spread over them by hash

struct conf;
struct endpoint;
struct net_icmp_error;
struct worker;

// Each of these runs on the worker's own lcore.

// Bytes of memory for one worker; 0 if no path MTUs are learned.
size_t path_mtu_size(const struct conf *c);
// Makes the table of a worker, whose rng is ready. Returns 0 or -ENOMEM.
int path_mtu_create(struct worker *w, int socket);
void path_mtu_free(struct worker *w);
// Length in bytes of the longest IP packet from our endpoint to a destination through a port, as
// far as known.
uint16_t path_mtu(const struct worker *w, uint8_t port, const struct endpoint *src,
	const struct endpoint *dst);
// True if a lower path MTU may be known for packets from our endpoint to a destination. Then no
// line may vouch for them.
bool path_mtu_lowered(
	const struct worker *w, const struct endpoint *src, const struct endpoint *dst);
// Learns from an error for which too_big is true, about a packet that we have sent for the live
// allocation of a slot. out_leg: the end of its line that the packet was for (enum turn_leg).
void path_mtu_learn(
	struct worker *w, const struct net_icmp_error *e, uint32_t slot, unsigned int out_leg);
