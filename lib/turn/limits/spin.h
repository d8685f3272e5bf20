// SPDX-License-Identifier: BSD-3-Clause
// A lock that workers hold for a few instructions, where allocations are made or end. Zeroed memory
// is a lock that nobody holds. PURE
#pragma once

#include <stdatomic.h>
#include <stdint.h>

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
