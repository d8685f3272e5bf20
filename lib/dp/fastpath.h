// SPDX-License-Identifier: BSD-3-Clause
// fastpath.c: the datagram that nearly every one is.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"

struct turn_config;
struct worker;

// An address datagrams are sent from, for headers.
struct source {
	struct addr addr;
	uint16_t port; // a listener's, as it lies in memory
	// The flags of views that can be sent on from here: DP_PLAIN, and DP_IPV4 or not.
	// SOURCE_STREAM and SOURCE_DTLS, which no view has, for listeners to whose clients no line
	// sends.
	uint8_t flags;
	// A listener's traffic class: the bits that stay as they came, and what the others are. The
	// latter is also the class of what is no relayed datagram.
	uint8_t tos_kept, tos;
} __attribute__((aligned(32))); // a power of two: indexed for every packet

#define SOURCE_STREAM 0xff
#define SOURCE_DTLS 0xfe

// Makes the sources of each leg (worker.source), which free() frees, also after an error. 0 or
// -ENOMEM.
int fastpath_sources_make(const struct turn_config *c, struct source *out[2]);
// Fills the tails of worker.tx, and plain_max.
void fastpath_wires_init(struct worker *w);
const struct source *fastpath_listener_source(const struct worker *w, uint8_t listener);
// turn_shard_params.line_made.
void fastpath_line_made(void *worker, uint32_t slot);
// Whether the one datagram in the burst, after turn_route_begin, is one that fastpath_burst relays
// by its line, and nothing waits that it would have to wait for. *port is then where it leaves.
bool fastpath_vouches(const struct worker *w, uint8_t *port);
// Relays what is in the burst, after turn_route_begin, and answers requests, which go to the
// backlog if they may. Returns how many datagrams were relayed.
unsigned int fastpath_burst(struct worker *w, bool may_wait);
// The same where the worker has meters. What is past a rate is dropped, and counts as relayed.
unsigned int fastpath_burst_metered(struct worker *w, bool may_wait);
