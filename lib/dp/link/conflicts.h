// SPDX-License-Identifier: BSD-3-Clause
// Hosts that use or claim one of our addresses. The worker notes them for management (dp_conflict),
// a few at a time, and never waits.
#pragma once

#include <stdint.h>

#include "addr.h"
#include "dp.h"

#define CONFLICTS 8

struct worker;

// One producer, the worker, and one consumer, management.
struct conflicts {
	uint32_t put, taken; // total numbers
	struct dp_conflict one[CONFLICTS];
};

// Notes that the host with this MAC claims an address on a port. Ignored if the address is noted
// already, if there is no room, or if the MAC belongs to one of our ports.
void conflicts_note(
	struct worker *w, uint8_t port, const struct addr *claimed, const uint8_t mac[6]);
