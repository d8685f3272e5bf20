// SPDX-License-Identifier: BSD-3-Clause
// Additions to struct turn_config for mobility (RFC 8016) (lib/features/meson.build).
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct turn_mobility {
	bool enabled; // clients may move their allocations to another 5-tuple
	// An allocation that may move outlives its client's connection by this time.
	uint32_t grace_s;
	// Clients that have moved, or are about to; 0 = one for each possible allocation.
	uint32_t moves;
};

#define MOBILITY_FIELDS(X) X(struct turn_mobility, mobility)
