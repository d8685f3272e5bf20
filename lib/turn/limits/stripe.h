// SPDX-License-Identifier: BSD-3-Clause
// stripe.c: a part of the table of quota.c, a small open-addressing table of counts behind a lock.
// Who calls a function holds the lock.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "limits/striped.h"

// This bit of a hash says that it is the key of a network: such a count gives way to the others.
#define STRIPE_NETWORK (UINT64_C(1) << 39)

// Any worker takes the lock; only its holder reads and writes the rest.
struct stripe {
	_Atomic uint32_t locked;
	uint32_t used;
	uint64_t entry[STRIPED_ENTRIES]; // tag and count; count 0 = free
} __attribute__((aligned(64)));

// Counts one more of a key. False, and nothing is counted, when limit is reached (0 = none) or the
// stripe is full. In a full one a network is not counted, and one that has been is forgotten for
// the key of another kind: it is counted anew from then on, so it may have too many for a while.
bool stripe_up(struct stripe *s, uint64_t hash, uint32_t limit);
// Takes one count of a key back, if it has any.
void stripe_down(struct stripe *s, uint64_t hash);
// The count of a key.
uint32_t stripe_count(struct stripe *s, uint64_t hash);
