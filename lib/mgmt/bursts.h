// SPDX-License-Identifier: BSD-3-Clause
// Batching in the log: one line per worker every now and then. Management lcore only.
// Private to lib/mgmt.
#pragma once

#include "dp.h"

struct mgmt_bursts {
	uint64_t every_ms, due_ms;
	struct dp_stats *before; // of each worker when it was told last; NULL = nothing is told
};

// Names of the classes of burst sizes.
extern const char *const mgmt_bursts_classes[DP_BURST_CLASSES];

// every_s 0: never tells. 0, or -ENOMEM. Times are those of one monotonic clock, in milliseconds.
int mgmt_bursts_start(struct mgmt_bursts *b, const struct dp *d, uint32_t every_s, uint64_t now_ms);
void mgmt_bursts_tick(struct mgmt_bursts *b, const struct dp *d, uint64_t now_ms);
void mgmt_bursts_stop(struct mgmt_bursts *b);
// What a worker's counters say, or rather their growth, as one line without newline; cut when len
// (not 0) is too short. Returns its length.
size_t mgmt_bursts_line(char *buf, size_t len, unsigned int worker, const struct dp_stats *s);
// 0 when there is no whole.
double mgmt_bursts_ratio(uint64_t part, uint64_t whole);
