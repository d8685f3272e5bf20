// SPDX-License-Identifier: BSD-3-Clause
// Additions to struct turn_config for bit rate limits (lib/features/meson.build).
#pragma once

#include <stdint.h>

// The owner of the datagrams that a rate limits.
enum turn_rate_of { TURN_RATE_ALLOCATION, TURN_RATE_USER, TURN_RATE_REALM, TURN_RATE_OF_END };

// Limits per second; 0 = no limit. kbits counts data only, as usage does.
struct turn_flow_rate {
	uint32_t kbits, datagrams;
};

struct turn_rates {
	struct turn_flow_rate flow[TURN_RATE_OF_END][2]; // by enum turn_leg
	// Length of a burst in milliseconds at the rate; at most 10 s, 0 = TURN_BURST_MS.
	uint32_t burst_ms;
};
#define TURN_BURST_MS 100

#define RATES_LIMITS(X) X(struct turn_rates, rates)
