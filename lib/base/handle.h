// SPDX-License-Identifier: BSD-3-Clause
// Handles by which other threads name an entry of a thread's table: the thread that owns it, its
// index there, and a generation that changes when the entry is used again. A handle whose
// generation is above 0 is never 0. PURE.
#pragma once

#include <stdint.h>

#define HANDLE_INDEX_BITS 24

static inline uint64_t handle_make(uint32_t generation, uint8_t owner, uint32_t index)
{
	return (uint64_t)generation << 32 | (uint32_t)owner << HANDLE_INDEX_BITS | index;
}

static inline uint32_t handle_generation(uint64_t handle)
{
	return (uint32_t)(handle >> 32);
}

static inline uint8_t handle_owner(uint64_t handle)
{
	return (uint8_t)(handle >> HANDLE_INDEX_BITS);
}

static inline uint32_t handle_index(uint64_t handle)
{
	return (uint32_t)handle & ((1u << HANDLE_INDEX_BITS) - 1);
}
