// SPDX-License-Identifier: BSD-3-Clause
// Additions to lib/turn for bit rate limits (lib/features/meson.build).
#pragma once

#include "feature_names.h"
#include "features/rates/meters.h"

#define RATES_NO_SIZE(p, permissions) 0
#define RATES_NOTHING(...) ((void)0)
#define RATES_NOT_LEFT(s, slot) UINT32_MAX
#define RATES_NOT_AWAY(s, slot) false
// A shard without meters needs no function call.
#define METERS_JUDGE(s, v, plan) ((s)->meters != NULL ? meters_judge(s, v, plan) : (void)0)
#define METERS_END(s, slot) ((s)->meters != NULL ? meters_end(s, slot) : (void)0)

#define RATES_PLANNED(X) X(METERS_JUDGE)
#define RATES_ALLOCATIONS(X) X(RATES_NOT_LEFT, RATES_NOTHING, METERS_END, RATES_NOT_AWAY)
#define RATES_MORE_LOSSES(X) X(meters_lost)
#define RATES_SHOWN(X) X(meters_usage, RATES_NOTHING)
#define METERS_PART(X) \
	X(struct turn_meters *, meters, RATES_NO_SIZE, RATES_NOTHING, RATES_NOTHING, RATES_NOTHING)

#ifdef FEATURE_TCP
#include "features/rates/credit.h"

#define RATES_PARTS(X) \
	METERS_PART(X) \
	X(struct credit_table, credits, credit_size, credit_init, RATES_NOTHING, RATES_NOTHING)
#define RATES_POLICIES(X) X(meters_policy) X(credit_policy)
#define RATES_TICKS(X) X(credit_tick)
#define RATES_CREDITS(X) X(credit_begin, credit_take, credit_settle)
#else
#define RATES_PARTS(X) METERS_PART(X)
#define RATES_POLICIES(X) X(meters_policy)
#endif
