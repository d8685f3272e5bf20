// SPDX-License-Identifier: BSD-3-Clause
// The appliance under measurement: the data path of one worker on a replay port, configured as an
// operator would, its rounds run by the benchmark. Single lcore.
#pragma once

#include <rte_cycles.h>

#include "dp_int.h"
#include "flows.h"
#include "options.h"

// Rounds of the fixed clock in a millisecond: full bursts at 50 ns a packet.
#define BOX_ROUNDS_PER_MS 625

struct box {
	struct conf *conf;
	struct dp *dp;
	struct worker *worker;
	struct port *port;
	struct flows *flows;
	// The worker's clock: the TSC less the cycles it stood still, or a count of rounds.
	bool fixed_clock;
	uint64_t tsc_lost, tsc_stopped;
	uint64_t rounds;
	uint64_t refreshed_ms; // the worker's time when the clients last asked for all
	uint64_t made; // frames of its own that the worker has made and we have answered
};

// Prints the reason as {"error":...} on stdout and as text on stderr, and ends the process with 1.
__attribute__((noreturn, format(printf, 1, 2))) void box_die(const char *fmt, ...);

// Megabytes of EAL memory that the box takes; before EAL is up. Ends the process on failure, as
// everything here.
uint32_t box_memory_mb(const struct options *o);
// The clock runs.
void box_open(struct box *b, const struct options *o, struct flows *f);
void box_close(struct box *b);

// The worker's clock stands still between these: what waits for a command must not grow old.
void box_clock_stop(struct box *b);
void box_clock_go(struct box *b);

// One turn of the worker, as its lcore would do it.
static inline void box_round(struct box *b)
{
	uint64_t now;

	if (b->fixed_clock)
		now = b->dp->tsc_start + b->rounds++ * b->dp->tsc_per_ms / BOX_ROUNDS_PER_MS;
	else
		now = rte_rdtsc() - b->tsc_lost;
	worker_round(b->worker, now);
}

// Answers, if the worker has asked for its gateway. To be called once in some rounds: it retries
// every second only. The answer is taken by the next round.
void box_answer(struct box *b);
// Rounds without traffic until the gateway is known.
void box_settle(struct box *b);

// Counters as they stand. Ends the process when anything was dropped, is held or missing, the
// counters do not balance, or an allocation, permission or channel has gone.
struct dp_stats box_check(struct box *b, const struct options *o);
