// SPDX-License-Identifier: BSD-3-Clause
// Token buckets in a fixed array, found by a keyed hash of who is limited: no client costs memory.
#pragma once

#include "hash.h"
#include "turn_config.h"

struct limiter;

size_t limiter_size(uint32_t buckets); // buckets: a power of two
struct limiter *limiter_create(void *mem, uint32_t buckets, const struct hash_key *key);
// Who a source address is to a limiter (/32, /64).
uint64_t limiter_source(const struct limiter *l, const struct addr *source);
// Takes one token of who, a hash that nobody outside can know: limiter_source, or of a 5-tuple.
// True when there was one. r->rate 0: always true. share: r is divided by it (the worker count), at
// least 1 each.
bool limiter_allow(struct limiter *l, const struct turn_rate *r, uint32_t share, uint64_t who,
	uint64_t now_ms);
// Whether limiter_allow would be true; takes nothing.
bool limiter_has(struct limiter *l, const struct turn_rate *r, uint32_t share, uint64_t who,
	uint64_t now_ms);
