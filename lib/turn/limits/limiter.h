// SPDX-License-Identifier: BSD-3-Clause
// Token buckets in a fixed array. A keyed hash of whoever is limited finds the bucket, so that no
// client costs memory.
#pragma once

#include "hash.h"
#include "turn_config.h"

struct limiter;

// Bytes of memory that limiter_create sets up, 64-byte aligned; buckets is a power of two.
size_t limiter_size(uint32_t buckets);
struct limiter *limiter_create(void *mem, uint32_t buckets, const struct hash_key *key);
// What names a source address to a limiter: a hash of an IPv4 address or of an IPv6 /64.
uint64_t limiter_source(const struct limiter *l, const struct addr *source);
// The same of its network: an IPv6 /48, which is what one site may have, with 65,536 of /64. An
// IPv4 address is its own.
uint64_t limiter_network(const struct limiter *l, const struct addr *source);
// Takes one token of `who`, a hash that no outsider can know: that of limiter_source, or of a
// 5-tuple. True when there was one; always true with r->rate 0. r is divided by share (the number
// of workers), to at least 1 each.
bool limiter_allow(struct limiter *l, const struct turn_rate *r, uint32_t share, uint64_t who,
	uint64_t now_ms);
// Whether limiter_allow would return true; takes nothing.
bool limiter_has(struct limiter *l, const struct turn_rate *r, uint32_t share, uint64_t who,
	uint64_t now_ms);
