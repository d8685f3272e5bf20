// SPDX-License-Identifier: BSD-3-Clause
// So many a second of each source (IPv4 address, IPv6 /64), with a burst: a fixed array of times,
// found by a keyed hash. There is no tag and no eviction, so nobody's debt can be pushed out; two
// sources that fall on one place share it. Pure; of one thread at a time.
#pragma once

#include "addr.h"
#include "hash.h"

struct rates {
	struct hash_key key; // as the caller has drawn it
	uint64_t gap_ns; // from one to the next; 0: no limit
	uint64_t most_ns; // how far ahead of its time a source may be
	uint32_t mask; // places - 1
	uint64_t *due_ns; // of each place: when all that it has had is paid for
};

// Bytes of memory for so many places, a power of two.
static inline size_t rates_size(uint32_t places)
{
	return places * sizeof(uint64_t);
}

// In zeroed memory of rates_size; r->key has been set. rate a second, 0: no limit; burst at once,
// at least 1.
void rates_init(struct rates *r, void *mem, uint32_t places, uint32_t rate, uint32_t burst);
// Whether a source may have one more now, which is counted.
bool rates_take(struct rates *r, const struct addr *source, uint64_t now_ms);
