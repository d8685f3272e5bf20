// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/dp for users who are looked up (lib/features/meson.build).
#pragma once

#include "features/lookup/lookup_rings.h"
#include "features/lookup/parking.h"

#define LOOKUP_OPEN(d) ((d)->ask = lookup_rings_ask, true)
#define LOOKUP_NOTHING_TO_DO(...) ((void)0)

#define LOOKUP_MEMORY(X) X(parking_size)
#define LOOKUP_WORKERS(X) X(turn_lookup_ask *, ask, LOOKUP_OPEN, LOOKUP_NOTHING_TO_DO)
#define LOOKUP_WORKER(X)                                                                          \
	X(struct lookups, lookups, struct parking *, parking, parking_make, LOOKUP_NOTHING_TO_DO, \
		parking_close)
#define LOOKUP_BEFORE_POLICY(X) X(lookup_rings_begin)
#define LOOKUP_WAITS(X) X(parking_put)
#define LOOKUP_FILLS(X) X(PARKING_FILL, parking_drain, PARKING_HELD)
