// SPDX-License-Identifier: BSD-3-Clause
// Reassembly of fragmented UDP datagrams, of both families (RFC 791 section 3.2, RFC 815, RFC 8200
// section 4.5). PURE: the caller supplies memory, key and time. One owner.
//
// A flow is a datagram with incomplete fragments: source, destination, identification and protocol.
// A fragment that overlaps or contradicts earlier ones ends its flow, and later fragments of that
// flow are dropped until it times out (RFC 5722). An exact duplicate is dropped without ending the
// flow.
//
// Limits: a source (an IPv4 address, an IPv6 /64) has at most per_source flows, an IPv6 /48 half of
// all flows and at most 64, and the total is at most flows. Above the first two limits the oldest
// flow of the source or /48 is replaced, above the last the oldest of all: fragments of one
// datagram arrive close together, so an honest flow is young.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "fragment.h"
#include "hash.h"
#include "net.h"

#define REASSEMBLY_NONE UINT32_MAX
#define REASSEMBLY_TICK 32 // most flows that time out in one call

struct reassembly; // opaque

struct reassembly_config {
	uint32_t flows; // at least 1
	uint32_t per_source; // at least 1
	uint32_t longest; // limit of a datagram in bytes, UDP header included; at most 65535
	uint32_t timeout_ms; // between the arrivals of the first and the last fragment
	struct hash_key key; // from the CSPRNG
	// Returns the buffer of a flow, of longest bytes, which stays the same until the flow has
	// ended.
	uint8_t *(*room)(void *ctx, uint32_t flow);
	void *ctx;
};

// A reassembled datagram. It is in the buffer of its flow, which the caller owns until room is
// called for that flow again.
struct reassembly_whole {
	uint32_t flow; // REASSEMBLY_NONE: not complete yet
	struct addr src, dst;
	uint16_t len; // UDP header included
	uint16_t fragments; // number of its fragments
	uint8_t tos, ttl; // of the first fragment; CE if any fragment had it (RFC 3168 section 5.3)
};

size_t reassembly_size(const struct reassembly_config *c);
// Initialises it in mem, reassembly_size(c) zeroed bytes.
struct reassembly *reassembly_create(void *mem, const struct reassembly_config *c);
// Adds a fragment that net_fragment_read has accepted, and copies its bytes. Returns NET_OK if it
// is kept, or completes the datagram in *whole. Else returns the reason to drop it.
enum net_drop reassembly_add(struct reassembly *r, const struct net_fragment *p, uint64_t now_ms,
	struct reassembly_whole *whole);
// Ends flows that have timed out, at most REASSEMBLY_TICK.
void reassembly_tick(struct reassembly *r, uint64_t now_ms);
// Returns the time of the next timeout; UINT64_MAX if there is no flow.
uint64_t reassembly_next_ms(const struct reassembly *r);
// Returns the number of fragments kept.
uint32_t reassembly_held(const struct reassembly *r);
// True if kept fragments were dropped since the last calls of reassembly_lost.
bool reassembly_any_lost(const struct reassembly *r);
// Returns the number of kept fragments dropped for a reason since the last call for it.
uint32_t reassembly_lost(struct reassembly *r, enum net_drop reason);
// Ends all flows and returns the number of their fragments, which reassembly_lost does not count.
uint32_t reassembly_clear(struct reassembly *r);
