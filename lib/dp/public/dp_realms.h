// SPDX-License-Identifier: BSD-3-Clause
// Realms as code outside the data path sees them: by number and by name, and the traffic of each
// (ask/realm_numbers.c).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "turn_usage.h"

struct dp;
struct dp_stats;

// Name of the realm with a number; 0 is the first realm; "" = the number was never used. A removed
// realm keeps its name until another realm gets its number. The text lives as long as the data
// path. Any thread.
const char *dp_realm_name(const struct dp *d, unsigned int number);
// Number of the realm with this name, which may have been removed. False if there never was one.
bool dp_realm_find(const struct dp *d, const char *name, uint8_t *number);

struct dp_realm {
	struct turn_sums sums; // over all its allocations
	uint64_t allocations; // live
};

// Traffic of a realm; *total comes from dp_total_stats. Any thread.
void dp_realm_stats(const struct dp *d, const struct dp_stats *total, unsigned int number,
	struct dp_realm *out);
// Sums over all realms, for one worker whose counters are in *total, or for all workers if worker
// is -1.
void dp_realm_sums(
	const struct dp *d, const struct dp_stats *total, int worker, struct turn_sums *out);
