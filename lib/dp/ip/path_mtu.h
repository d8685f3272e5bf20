// SPDX-License-Identifier: BSD-3-Clause
// path_mtu.c: how long a packet of a flow may be.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pmtu.h"

#define PATH_MTU_BUCKETS 64 // for users, who are dealt over them by hash

struct conf;
struct endpoint;
struct net_icmp_error;
struct worker;

// Each of these runs on the worker's own lcore.

// Bytes of memory for one worker; 0 where nothing is to be learnt.
size_t path_mtu_size(const struct conf *c);
// Makes the table of a worker whose rng is ready. 0 or -ENOMEM.
int path_mtu_create(struct worker *w, int socket);
void path_mtu_free(struct worker *w);
// Bytes of the longest IP packet that gets from an endpoint of ours to a destination by a port, as
// far as is known.
uint16_t path_mtu(const struct worker *w, uint8_t port, const struct endpoint *src,
	const struct endpoint *dst);
// Whether packets from an endpoint of ours have to be looked at because of their destination. No
// line may then vouch for what goes there.
bool path_mtu_lowered(
	const struct worker *w, const struct endpoint *src, const struct endpoint *dst);
// Learns from an error of a kind that too_big is true of, about a packet that we have sent for the
// live allocation of a slot. to: the end of its line that the packet was for, as in hop.
void path_mtu_learn(
	struct worker *w, const struct net_icmp_error *e, uint32_t slot, unsigned int out_leg);
