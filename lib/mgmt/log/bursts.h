// SPDX-License-Identifier: BSD-3-Clause
// Logs batching: one line per worker every every_ms. Management lcore only. Private to lib/mgmt.
#pragma once

#include "dp.h"

struct mgmt_bursts {
	uint64_t every_ms, due_ms;
	struct dp_stats *before; // counters of each worker at its last line; NULL = no lines
};

// Names of the classes of burst sizes.
extern const char *const mgmt_bursts_classes[DP_BURST_CLASSES];

// start: every_s is the interval between lines in seconds; 0 means no lines. Returns 0 or -ENOMEM.
// tick: logs the lines that are due. stop: frees the memory of start. now_ms is monotonic time in
// milliseconds.
int mgmt_bursts_start(struct mgmt_bursts *b, const struct dp *d, uint32_t every_s, uint64_t now_ms);
void mgmt_bursts_tick(struct mgmt_bursts *b, const struct dp *d, uint64_t now_ms);
void mgmt_bursts_stop(struct mgmt_bursts *b);
// Writes a worker's counters (or their growth) as one line without a newline, truncated to len
// bytes (not 0). Returns its length.
size_t mgmt_bursts_line(char *buf, size_t len, unsigned int worker, const struct dp_stats *s);
// part / whole; 0 when whole is 0.
double mgmt_bursts_ratio(uint64_t part, uint64_t whole);
