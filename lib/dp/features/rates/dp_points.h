// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/dp for bit rate limits (lib/features/meson.build).
#pragma once

#include "features/rates/metering.h"

// Nearly all datagrams have credit, and need no function call.
#define METERING_PAY(w, m, v, leg, len)                                                   \
	(likely(turn_meter_take((w)->meters, (v)->slot, leg, turn_meter_cost(1, len))) || \
		metering_asks(w, m, v, turn_meter_cost(1, len)))

#define RATES_MEMORY(X) X(metering_size)
#define RATES_WORKER(X)                                                                          \
	X(struct metering, metering, struct turn_meters *, meters, metering_make, metering_take, \
		metering_free)
#define RATES_BEFORE_POLICY(X) X(metering_begin)
#define RATES_METERS(X)                                                                   \
	X(meters, METERING_PAY, metering_take_leg, metering_give_leg, metering_take_more, \
		metering_give_more)
