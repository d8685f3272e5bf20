// SPDX-License-Identifier: BSD-3-Clause
// Path MTUs of flows below the MTU of the link (RFC 1191, RFC 8201), in a table of fixed size. A
// keyed hash gives each flow four entries. If all are in use, the oldest of the four is replaced.
// PURE; one lcore at a time.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "addr.h"
#include "hash.h"

#define PMTU_MS (600 * UINT64_C(1000)) // lifetime of an entry (RFC 1191 section 6.3)
// Least MTU that every host supports (RFC 791, RFC 8200).
#define PMTU_MIN4 576
#define PMTU_MIN6 1280
#define PMTU_NONE UINT16_MAX // no path MTU is known

struct pmtu_entry;

// Packets from our address and port to a destination.
struct pmtu_flow {
	struct addr src, dst;
	uint16_t src_port;
	uint16_t dst_port; // 0: all ports
};

struct pmtu {
	struct hash_key key;
	struct pmtu_entry *entry;
	uint32_t nb_buckets; // buckets of four entries; 0 = the table is off
	uint64_t until_ms; // all entries have expired by then
};

// Returns the bytes of memory, 64-byte aligned and zeroed, for this number of flows, rounded up to
// a multiple of four.
size_t pmtu_size(uint32_t entries);
// Makes an empty table in mem, which outlives it.
void pmtu_init(struct pmtu *t, void *mem, uint32_t entries, const struct hash_key *key);
// True if the table may have an entry.
static inline bool pmtu_any(const struct pmtu *t, uint64_t now_ms)
{
	return __builtin_expect(now_ms < t->until_ms, 0);
}
// Returns the upper limit of a flow's path MTU, or PMTU_NONE.
uint16_t pmtu_find(const struct pmtu *t, const struct pmtu_flow *flow, uint64_t now_ms);
// Returns the path MTU from an ICMP error about a packet of len bytes: its MTU field or, if that is
// 0 (IPv4 only), the next plateau below len (RFC 1191 section 7). PMTU_NONE if the value is
// unusable: not less than len, or less than PMTU_MIN4 or PMTU_MIN6.
uint16_t pmtu_reported(bool is_v4, uint32_t mtu, uint32_t len);
// Records the path MTU of a flow for PMTU_MS, if it is less than the known one. False if it is not.
bool pmtu_lower(struct pmtu *t, const struct pmtu_flow *flow, uint16_t mtu, uint64_t now_ms);
