// SPDX-License-Identifier: BSD-3-Clause
// Counters of all lanes at a moment, and what lies between two such moments. Main lcore.
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
	struct client_stats clients; // of all senders
	struct hist latency[DIRECTION_NB]; // of all receivers
};

void snapshot_take(const struct engine *e, struct snapshot *s);
// When the senders began with the phase they are in, by their own clocks (TSC): their mean, each by
// its share of the flows, so that what was due by t is rate * (t - it). e->since without senders.
uint64_t senders_began(const struct engine *e);
// Sum over the senders.
void snapshot_clients(const struct engine *e, struct client_stats *out);

// A result with its histograms. NULL when memory ran out.
struct result *result_create(void);
void result_free(struct result *r);
// What happened between two snapshots of one trial. whole: `from` was taken before the trial began,
// so that the latencies are all those of `to` (else their difference). seconds: of sending.
void result_between(const struct engine *e, const struct snapshot *from, const struct snapshot *to,
	bool whole, struct result *r);
