// SPDX-License-Identifier: BSD-3-Clause
// addr_settled.c: whether what the network has given in place of an address is there to stay. Pure.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "addr.h"

#define ADDR_SETTLE_MS 2000 // it has been there so long, without a change
#define ADDR_HOLD_MS 10000 // from one to the next

// What an address, and the router that it has come with, would be replaced by.
struct addr_wanted {
	struct addr addr, router; // router: :: = none, or it is not followed
	uint8_t prefix_len; // of the 128-bit form
};

// What of one entry is in view; all zero at first.
struct addr_settled {
	struct addr_wanted wanted;
	uint64_t since_ms,
		next_ms; // wanted has been there since; not before then. Of since 0 = nothing
};

// Takes what a look has found: in its place, or NULL where the entry has what it is to have. True
// when it is due: the caller then replaces it, and calls addr_settled_tried.
bool addr_settled_look(struct addr_settled *s, const struct addr_wanted *wanted, uint64_t now_ms);
// It has been tried, well or not: not again before ADDR_HOLD_MS.
void addr_settled_tried(struct addr_settled *s, uint64_t now_ms);
