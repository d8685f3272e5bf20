// SPDX-License-Identifier: BSD-3-Clause
// Reassembly of fragmented UDP datagrams, of both families (RFC 791 section 3.2, RFC 815, RFC 8200
// section 4.5). PURE: memory, key and clock are handed in. One owner.
//
// A datagram whose fragments are being collected is a flow: source, destination, identification and
// protocol. What overlaps anything that is there already ends its flow, and so does what
// contradicts it; all that still comes of such a flow is dropped until it times out (RFC 5722). An
// exact duplicate alone is dropped by itself.
//
// Bounds: a source (an IPv4 address, an IPv6 /64) has so many flows, an IPv6 /48 half of all and 64
// at most, and there are so many in all. Past the first bounds the oldest flow of the same source
// or /48 gives way, past the last the oldest of all: fragments of one datagram come close behind
// each other, so an honest flow is young.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "fragment.h"
#include "hash.h"
#include "net.h"

#define REASSEMBLY_NONE UINT32_MAX
#define REASSEMBLY_TICK 32 // flows that time out in one call, at most

struct reassembly; // opaque

struct reassembly_config {
	uint32_t flows; // at least 1
	uint32_t per_source; // at least 1
	uint32_t longest; // bytes of a datagram, UDP header included; at most 65535
	uint32_t timeout_ms; // from the first fragment that came to the last
	struct hash_key key; // from the CSPRNG
	// Memory for the bytes of a flow, of longest bytes, which is the same until the flow has
	// ended.
	uint8_t *(*room)(void *ctx, uint32_t flow);
	void *ctx;
};

// What fragments have become. It lies in the memory of its flow, which from now on is the caller's
// until room is called for that flow again.
struct reassembly_whole {
	uint32_t flow; // REASSEMBLY_NONE: it is not whole yet
	struct addr src, dst;
	uint16_t len; // UDP header included
	uint16_t fragments; // that it came in
	uint8_t tos, ttl; // of the first; with CE if any had it (RFC 3168 section 5.3)
};

size_t reassembly_size(const struct reassembly_config *c);
// Makes one in mem, reassembly_size(c) zeroed bytes.
struct reassembly *reassembly_create(void *mem, const struct reassembly_config *c);
// Takes in a fragment that net_fragment_read has found to be right, whose bytes are copied. NET_OK:
// it is kept, or whole->flow has what it has completed. Else the reason to drop it.
enum net_drop reassembly_add(struct reassembly *r, const struct net_fragment *p, uint64_t now_ms,
	struct reassembly_whole *whole);
// Ends flows whose time is over, REASSEMBLY_TICK at most.
void reassembly_tick(struct reassembly *r, uint64_t now_ms);
// When reassembly_tick has something to end next; UINT64_MAX: never, as it is now.
uint64_t reassembly_next_ms(const struct reassembly *r);
// Fragments that are kept.
uint32_t reassembly_held(const struct reassembly *r);
// Whether fragments that were kept have been lost since reassembly_lost was last called.
bool reassembly_any_lost(const struct reassembly *r);
// How many have been lost for a reason since it was last asked for.
uint32_t reassembly_lost(struct reassembly *r, enum net_drop reason);
// Ends all flows and returns how many fragments go with them, which reassembly_lost does not count.
uint32_t reassembly_clear(struct reassembly *r);
