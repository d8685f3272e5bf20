// SPDX-License-Identifier: BSD-3-Clause
// Decides whether a replacement address from the network is stable. Pure.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"

#define ADDR_SETTLE_MS 2000 // the address has been there without a change for this time
#define ADDR_HOLD_MS 10000 // time between two replacements

// The replacement of an address, and the router that came with it.
struct addr_wanted {
	struct addr addr, router; // router: :: = there is no router, or it is not adopted
	uint8_t prefix_len; // of the 128-bit form
};

// State of one entry; all zero at first.
struct addr_settled {
	struct addr_wanted wanted;
	uint64_t since_ms,
		// Wanted has been there since since_ms (0 = it is not there); no replacement before
		// next_ms.
		next_ms;
};

// Call it with each result: the replacement, or NULL if the entry has its right address. True if it
// is due: the caller then replaces the address, and calls addr_settled_tried.
bool addr_settled_look(struct addr_settled *s, const struct addr_wanted *wanted, uint64_t now_ms);
// Call it after the attempt, whether or not it succeeded: no other replacement follows before
// ADDR_HOLD_MS.
void addr_settled_tried(struct addr_settled *s, uint64_t now_ms);
