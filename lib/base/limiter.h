// SPDX-License-Identifier: BSD-3-Clause
// Token buckets in a fixed array, for limits of each source of many (an IPv4 address, an IPv6 /64).
// A keyed hash finds the bucket, so no source costs memory. There is no tag and no eviction: two
// sources whose hashes fall on one bucket share it. A tag would have to be evicted, and then forged
// sources could refill any bucket by pushing its owner out. PURE; one thread at a time.
//
// An IPv6 network, a /48, is one site with 65,536 of /64: it has a few times what a source has.
#pragma once

#include "addr.h"
#include "bucket.h"
#include "hash.h"

struct limiter {
	struct hash_key key; // from a CSPRNG
	struct bucket *bucket; // of sources, and behind them of networks
	uint32_t mask, network_mask; // number of buckets - 1
	uint32_t networks; // index of the first bucket of networks
	// Set by the user. Limits are divided by parts (the number of workers, where a source
	// reaches all of them), and a network has so many times the limit of a source.
	uint32_t parts, times;
};

// Bytes of memory for so many buckets; numbers of buckets are powers of two.
static inline size_t limiter_size(uint32_t sources, uint32_t networks)
{
	return ((size_t)sources + networks) * sizeof(struct bucket);
}

// Sets a limiter up in mem, limiter_size() zeroed bytes that outlive it, with parts and times 1.
// networks is 0: they are found among the sources. The user sets the key.
void limiter_init(struct limiter *l, void *mem, uint32_t sources, uint32_t networks);
// The bucket of anybody, by a hash that no outsider can know.
static inline struct bucket *limiter_bucket(const struct limiter *l, uint64_t hash)
{
	return &l->bucket[hash & l->mask];
}

// The bucket of a source.
static inline struct bucket *limiter_source(const struct limiter *l, const struct addr *a)
{
	const struct addr source = addr_source(a);

	return limiter_bucket(l, hash_addr(&l->key, &source, 0));
}

// The bucket of a network.
static inline struct bucket *limiter_network(const struct limiter *l, const struct addr *a)
{
	const struct addr network = addr_network(a);

	return &l->bucket[l->networks + (hash_addr(&l->key, &network, 1) & l->network_mask)];
}

// Takes one token of a source, and of its network where that is IPv6. False, and nothing is taken,
// when the one or the other has none; always true with a rate of 0.
bool limiter_take(
	struct limiter *l, const struct limit *each, const struct addr *source, uint64_t now_ms);
