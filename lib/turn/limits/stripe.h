// SPDX-License-Identifier: BSD-3-Clause
// A part of the table of quota.c: a small open-addressing table of counts behind a lock. The caller
// of each function holds the lock.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "limits/striped.h"

// This bit of a hash marks the key of a network. Its count is dropped if a key of another kind
// needs the entry.
#define STRIPE_NETWORK (UINT64_C(1) << 39)

// Any worker takes the lock; only its holder reads and writes the rest.
struct stripe {
	_Atomic uint32_t locked;
	uint32_t used;
	uint64_t entry[STRIPED_ENTRIES]; // tag and count; count 0 = free
} __attribute__((aligned(64)));

// Counts one more for a key. False if limit is reached (0 = no limit) or the stripe is full;
// nothing is counted then. In a full stripe a new network is not counted, and a counted network is
// dropped for a key of another kind: it starts again from 0, so it may exceed its limit for a
// while.
bool stripe_up(struct stripe *s, uint64_t hash, uint32_t limit);
// Takes one count of a key back, if it has any.
void stripe_down(struct stripe *s, uint64_t hash);
// The count of a key.
uint32_t stripe_count(struct stripe *s, uint64_t hash);
