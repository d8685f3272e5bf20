// SPDX-License-Identifier: BSD-3-Clause
// Realms as those outside of the data path see them: by number and by name, and what each has
// relayed (control/realms.c).
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "turn_usage.h"

struct dp;
struct dp_stats;

// The name of the realm with a number, which is the first one's with 0; "" = there has been none.
// One that is gone goes on having its name until another gets its number. The text lives as long as
// the data path. Any thread.
const char *dp_realm_name(const struct dp *d, unsigned int number);
// The number of the realm of this name, which may be gone. False when there has been none.
bool dp_realm_find(const struct dp *d, const char *name, uint8_t *number);

struct dp_realm {
	struct turn_sums sums; // of all its allocations
	uint64_t allocations; // live
};

// What a realm has: *total is of dp_total_stats. Any thread.
void dp_realm_stats(const struct dp *d, const struct dp_stats *total, unsigned int number,
	struct dp_realm *out);
// The sums over all realms, of a worker whose counters *total has, or, with -1, of all.
void dp_realm_sums(
	const struct dp *d, const struct dp_stats *total, int worker, struct turn_sums *out);
