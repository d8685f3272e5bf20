// SPDX-License-Identifier: BSD-3-Clause
// The appliance under measurement: the data path of one worker on a replay port, configured as an
// operator would, its rounds run by the benchmark. With more workers each has a queue, and flow i
// lives on worker i modulo their number; one lcore runs all of them in turn, unless measure.c runs
// each on its own.
#pragma once

#include <rte_cycles.h>

#include "datapath.h"
#include "flows.h"
#include "options.h"
#include "worker.h"

// Rounds of the fixed clock in a millisecond: full bursts at 50 ns a packet.
#define BOX_ROUNDS_PER_MS 625

struct box {
	struct conf *conf;
	struct dp *dp;
	struct worker *worker; // the first one
	unsigned int workers;
	struct port *port;
	struct flows *flows;
	// The worker's clock: the TSC less the cycles it stood still, or a count of rounds.
	bool fixed_clock;
	uint64_t tsc_lost, tsc_stopped;
	uint64_t rounds;
	uint64_t refreshed_ms; // the worker's time when the clients last asked for all
	uint64_t made[OPTIONS_WORKERS_MAX]; // frames of its own that each has made, as answered
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

// One turn of every worker, as its lcore would do it.
static inline void box_round(struct box *b)
{
	uint64_t now;

	if (b->fixed_clock)
		now = b->dp->tsc_start + b->rounds++ * b->dp->tsc_per_ms / BOX_ROUNDS_PER_MS;
	else
		now = rte_rdtsc() - b->tsc_lost;
	for (unsigned int w = 0; w < b->workers; w++)
		worker_round(b->dp->worker[w], now);
}

// The worker that a flow lives on.
static inline struct worker *box_home(const struct box *b, uint32_t flow)
{
	return b->dp->worker[flow % b->workers];
}

// Answers, if a worker has asked for its gateway. To be called once in some rounds: it retries
// every second only. The answer is taken by the next round.
void box_answer_worker(struct box *b, unsigned int worker);
void box_answer(struct box *b); // all of them
// Rounds without traffic until the gateway is known.
void box_settle(struct box *b);
// Rounds without traffic until nothing is left between workers.
void box_drain(struct box *b);
// From now on the queues receive this many frames together, then none.
void box_limit(struct box *b, uint64_t frames);

// Counters as they stand. Ends the process when anything was dropped, is held or missing, the
// counters do not balance, or an allocation, permission or channel has gone.
struct dp_stats box_check(struct box *b, const struct options *o);
