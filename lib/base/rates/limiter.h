// SPDX-License-Identifier: BSD-3-Clause
// Token buckets in a fixed array, to limit each of many sources (an IPv4 address, an IPv6 /64). A
// keyed hash finds the bucket, so sources need no memory. There are no tags and no eviction: two
// sources with the same bucket share it. Tags would require eviction, and then forged sources could
// refill any bucket by evicting its owner. PURE; one thread at a time.
//
// An IPv6 network, a /48, is one site with 65,536 /64s: its limit is a few times that of a source.
#pragma once

#include "addr.h"
#include "rates/bucket.h"
#include "hash.h"

struct limiter {
	struct hash_key key; // from a CSPRNG
	struct bucket *bucket; // buckets of sources, then those of networks
	uint32_t mask, network_mask; // number of buckets - 1
	uint32_t networks; // index of the first bucket of networks
	// Set by the user. Limits are divided by parts (the number of workers, if a source reaches
	// all of them), and the limit of a network is `times` that of a source.
	uint32_t parts, times;
};

// Returns the bytes of memory for these numbers of buckets, which must be powers of two.
static inline size_t limiter_size(uint32_t sources, uint32_t networks)
{
	return ((size_t)sources + networks) * sizeof(struct bucket);
}

// Sets up a limiter in mem, limiter_size() zeroed bytes that outlive it, with parts and times 1.
// networks 0: networks share the buckets of sources. The user sets the key.
void limiter_init(struct limiter *l, void *mem, uint32_t sources, uint32_t networks);
// Returns the bucket of a hash, which must be keyed.
static inline struct bucket *limiter_bucket(const struct limiter *l, uint64_t hash)
{
	return &l->bucket[hash & l->mask];
}

// Returns the bucket of a source.
static inline struct bucket *limiter_source(const struct limiter *l, const struct addr *a)
{
	const struct addr source = addr_source(a);

	return limiter_bucket(l, hash_addr(&l->key, &source, 0));
}

// Returns the bucket of a network.
static inline struct bucket *limiter_network(const struct limiter *l, const struct addr *a)
{
	const struct addr network = addr_network(a);

	return &l->bucket[l->networks + (hash_addr(&l->key, &network, 1) & l->network_mask)];
}

// Takes one token of a source and, for IPv6, one of its network. False, with nothing taken, if
// either has no token; always true with a rate of 0.
bool limiter_take(
	struct limiter *l, const struct limit *each, const struct addr *source, uint64_t now_ms);
