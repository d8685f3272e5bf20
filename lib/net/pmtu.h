// SPDX-License-Identifier: BSD-3-Clause
// What is known of the MTU of some flows' paths, where it is less than that of the link (RFC 1191,
// RFC 8201): a table of fixed size. A flow has four places under a keyed hash. When all are taken,
// the oldest of the four gives way. PURE; one lcore at a time.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addr.h"
#include "hash.h"

#define PMTU_MS (600 * UINT64_C(1000)) // how long one is believed (RFC 1191 section 6.3)
#define PMTU_MIN4 576 // a path that every host can count on, and what RFC 8200 demands
#define PMTU_MIN6 1280
#define PMTU_NONE UINT16_MAX // nothing is known

struct pmtu_place;

// What goes from an address and port of ours to a destination.
struct pmtu_flow {
	struct addr src, dst;
	uint16_t src_port;
	uint16_t dst_port; // 0: what goes to any of its ports
};

struct pmtu {
	struct hash_key key;
	struct pmtu_place *place;
	uint32_t nb_buckets; // of four places; 0 = nothing is ever known
	uint64_t until_ms; // from then on nothing is known
};

// Bytes of memory, 64-byte aligned and zeroed, for so many flows; rounded up to fours.
size_t pmtu_size(uint32_t entries);
// Makes an empty table in mem, which outlives it.
void pmtu_init(struct pmtu *t, void *mem, uint32_t entries, const struct hash_key *key);
// Whether anything is known of any flow.
static inline bool pmtu_any(const struct pmtu *t, uint64_t now_ms)
{
	return __builtin_expect(now_ms < t->until_ms, 0);
}
// The MTU of a flow's path, at the most; PMTU_NONE.
uint16_t pmtu_find(const struct pmtu *t, const struct pmtu_flow *flow, uint64_t now_ms);
// What a report says of a path on which a packet of len bytes was too big: the MTU that it names,
// or where it names none (0, IPv4 alone) the next plateau below len (RFC 1191 section 7). PMTU_NONE
// when it says nothing to go by: not less than len, or less than PMTU_MIN4 or PMTU_MIN6.
uint16_t pmtu_reported(bool is_v4, uint32_t mtu, uint32_t len);
// Notes the MTU of a flow's path for PMTU_MS, if it is less than what is known. False: it is not.
bool pmtu_lower(struct pmtu *t, const struct pmtu_flow *flow, uint16_t mtu, uint64_t now_ms);
