// SPDX-License-Identifier: BSD-3-Clause
// Counters that one thread writes while others read them, with __atomic_load_n. The writer needs no
// locked instruction.
#pragma once

#include <stdint.h>

static inline void counter_add(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, *counter + n, __ATOMIC_RELAXED);
}
