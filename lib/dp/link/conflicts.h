// SPDX-License-Identifier: BSD-3-Clause
// conflicts.c: hosts that have, or say they have, an address of ours. The worker notes them for
// management (dp_conflict), some at a time, and never waits.
#pragma once

#include <stdint.h>

#include "addr.h"
#include "dp.h"

#define CONFLICTS 8

struct worker;

// One producer, the worker, and one consumer, management.
struct conflicts {
	uint32_t put, taken; // so many so far
	struct dp_conflict one[CONFLICTS];
};

// The host with this MAC claims an address on a port. Left out while the address is noted already,
// where there is no room, and where the MAC is that of a port of ours.
void conflicts_note(
	struct worker *w, uint8_t port, const struct addr *claimed, const uint8_t mac[6]);
