// SPDX-License-Identifier: BSD-3-Clause
// Limits how many events a second each source (an IPv4 address, an IPv6 /64) may cause, with a
// burst. An IPv6 /48, which one site may have all of, may cause as many as some sources. A keyed
// hash finds the source's place in a fixed array of times. There is no tag and no eviction, so
// nobody's debt can be pushed out; two sources whose hashes fall on one place share it. Pure; one
// thread at a time.
#pragma once

#include "addr.h"
#include "hash.h"

struct rates {
	struct hash_key key; // set by the caller, from a CSPRNG
	uint32_t network; // sources, whose events a /48 may cause; a hundred, or the caller's
	uint64_t gap_ns; // between two events at the full rate; 0: no limit
	uint64_t most_ns; // how far a place's due time may lie ahead of now
	uint32_t mask; // places - 1
	uint64_t *due_ns; // by place: when the events so far will be paid for
};

// Bytes of memory for a number of places, a power of two.
static inline size_t rates_size(uint32_t places)
{
	return places * sizeof(uint64_t);
}

// Sets up r in mem, rates_size(places) zeroed bytes that outlive it; the caller has set r->key.
// rate is events a second, 0: no limit; burst is how many may come at once, at least 1.
void rates_init(struct rates *r, void *mem, uint32_t places, uint32_t rate, uint32_t burst);
// Changes rate and burst; what sources owe they go on owing.
void rates_set(struct rates *r, uint32_t rate, uint32_t burst);
// Whether a source may cause one more event now; if so it is counted.
bool rates_take(struct rates *r, const struct addr *source, uint64_t now_ms);
