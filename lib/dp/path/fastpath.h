// SPDX-License-Identifier: BSD-3-Clause
// Relays datagrams that their allocation's line vouches for, which nearly all datagrams are.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"

struct turn_config;
struct worker;

// An address that datagrams are sent from, for headers.
struct source {
	struct addr addr;
	uint16_t port; // a listener's UDP port, in network byte order
	// Flags of views that may be relayed from here: DP_PLAIN, and DP_IPV4 or not. SOURCE_STREAM
	// and SOURCE_DTLS, which no view has, mark listeners whose clients are not served by lines.
	uint8_t flags;
	// A listener's traffic class: mask of the bits that are kept, and the value of the others.
	// The value is also the class of packets that are not relayed datagrams.
	uint8_t tos_kept, tos;
} __attribute__((aligned(32))); // a power of two: indexed for every packet

#define SOURCE_STREAM 0xff
#define SOURCE_DTLS 0xfe

// Makes the sources of each leg (worker.source). The caller releases both by free(), even after an
// error. Returns 0 or -ENOMEM.
int fastpath_sources_make(const struct turn_config *c, struct source *out[2]);
// Sets the tails of worker.tx, and plain_max.
void fastpath_wires_init(struct worker *w);
const struct source *fastpath_listener_source(const struct worker *w, uint8_t listener);
// Callback turn_shard_params.line_made.
void fastpath_line_made(void *worker, uint32_t slot);
// True if fastpath_burst would relay the one datagram of the burst by its line, and it would not
// wait behind a request. Call it after turn_route_begin. *port is then its egress port.
bool fastpath_vouches(const struct worker *w, uint8_t *port);
// Relays the datagrams of the burst after turn_route_begin, and answers requests; may_wait:
// requests go to the backlog instead. Returns the number of datagrams relayed.
unsigned int fastpath_burst(struct worker *w, bool may_wait);
// Like fastpath_burst, for a worker with meters. Datagrams beyond a rate are dropped and count as
// relayed.
unsigned int fastpath_burst_metered(struct worker *w, bool may_wait);
