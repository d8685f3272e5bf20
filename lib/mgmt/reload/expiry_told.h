// SPDX-License-Identifier: BSD-3-Clause
// Logs certificates in use that must be renewed, once a day each. Private to lib/mgmt.
#pragma once

#include <stdint.h>
#include <time.h>

struct dp;

#define EXPIRY_TOLD_MS (24u * 3600 * 1000)

struct expiry_told {
	uint64_t next_ms;
};

// The start has logged the certificates already. now_ms: monotonic, also below.
void expiry_told_start(struct expiry_told *t, uint64_t now_ms);
// Checks the certificates once a day, and logs those that expire soon or have expired. now: the
// time of day. Management lcore.
void expiry_told_tick(struct expiry_told *t, const struct dp *d, uint64_t now_ms, time_t now);
