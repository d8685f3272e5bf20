// SPDX-License-Identifier: BSD-3-Clause
// Snapshots of all lanes' counters, and results made from two snapshots. Main lcore.
#pragma once

#include "client/client.h"
#include "lanes/engine.h"
#include "lanes/lane_stats.h"
#include "measure/hist.h"
#include "measure/result.h"

struct snapshot {
	uint64_t tsc;
	struct lane_stats lane[CONFIG_LANES_MAX];
	struct port_counters port[SIDE_NB];
	struct client_stats clients; // summed over all senders
	struct hist latency[DIRECTION_NB]; // merged from all receivers
};

// Takes a snapshot of all counters now.
void snapshot_take(const struct engine *e, struct snapshot *s);
// Sums the client counters of all senders.
void snapshot_clients(const struct engine *e, struct client_stats *out);

// Fills r with the events between two snapshots of one trial. whole: `before` was taken before the
// trial began, so all latencies in `after` belong to it; otherwise the difference is taken.
// r->seconds counts sending only.
void snapshot_result(const struct engine *e, const struct snapshot *before,
	const struct snapshot *after, bool whole, struct result *r);
