// SPDX-License-Identifier: BSD-3-Clause
// A table that all workers share, divided into stripes. Each stripe begins with a lock, which a
// worker holds for a few instructions when an allocation begins or ends. PURE
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define STRIPED_ENTRIES 4096u // per stripe

struct striped {
	uint8_t *stripes;
	size_t size; // bytes of a stripe
	uint32_t nb;
};

// Bytes of memory of a table for this number of entries; size is that of a stripe, a multiple of
// 64.
size_t striped_size(uint64_t entries, size_t size);
// Makes the table, zeroed: all locks are free. Returns 0 or -ENOMEM.
int striped_create(struct striped *t, uint64_t entries, size_t size);
void striped_free(struct striped *t);

static inline void *striped_stripe(const struct striped *t, uint32_t i)
{
	return t->stripes + i * t->size;
}

// The number of the stripe of an entry, from 32 bits of its hash.
static inline uint32_t striped_find(const struct striped *t, uint32_t hash)
{
	return (uint32_t)(((uint64_t)hash * t->nb) >> 32);
}

static inline void spin_lock(_Atomic uint32_t *locked)
{
	while (atomic_exchange_explicit(locked, 1, memory_order_acquire) != 0) {
		while (atomic_load_explicit(locked, memory_order_relaxed) != 0) {
#ifdef __x86_64__
			__builtin_ia32_pause();
#endif
		}
	}
}

static inline void spin_unlock(_Atomic uint32_t *locked)
{
	atomic_store_explicit(locked, 0, memory_order_release);
}
