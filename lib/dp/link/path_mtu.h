// SPDX-License-Identifier: BSD-3-Clause
// path_mtu.c: how long a packet to a destination may be.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pmtu.h"

struct addr;
struct conf;
struct net_icmp_error;
struct worker;

// Each of these runs on the worker's own lcore.

// Bytes of memory for one worker; 0 where nothing is to be learnt.
size_t path_mtu_size(const struct conf *c);
// Makes the table of a worker whose rng is ready. 0 or -ENOMEM.
int path_mtu_create(struct worker *w, int socket);
void path_mtu_free(struct worker *w);
// Bytes of the longest IP packet that gets to a destination by a port, as far as is known.
uint16_t path_mtu(const struct worker *w, uint8_t port, const struct addr *dst);
// Whether packets that leave by a port have to be looked at because of their destination. No line
// may then vouch for what goes there.
bool path_mtu_lowered(const struct worker *w, const struct addr *dst);
// Learns from an error of a kind that too_big is true of, about a packet that we have sent. client:
// on whose account a neighbour is asked for, if one has to be.
void path_mtu_learn(struct worker *w, const struct net_icmp_error *e, const struct addr *client);
