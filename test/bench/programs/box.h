// SPDX-License-Identifier: BSD-3-Clause
// The server under measurement: the data path on a replay port, with one worker, configured as an
// operator would. The benchmark runs its rounds. With several workers each has a queue, and flow i
// lives on worker i modulo their number. One lcore runs all of them in turn, except in the timed
// runs of lcores.c, where each has its own lcore.
#pragma once

#include <rte_cycles.h>

#include "datapath.h"
#include "flows.h"
#include "options.h"
#include "path/worker.h"

// Rounds of the fixed clock in a millisecond: 50 ns a packet in full bursts.
#define BOX_ROUNDS_PER_MS 625

struct box {
	struct conf *conf;
	struct dp *dp;
	struct worker *worker; // the first one
	unsigned int workers;
	struct port *port;
	struct flows *flows;
	// The workers' clock: the TSC without the cycles while it stood still, or a count of
	// rounds.
	bool fixed_clock; // it counts rounds
	uint64_t tsc_lost, tsc_stopped;
	uint64_t rounds;
	uint64_t refreshed_ms; // the workers' time when the clients last refreshed everything
	uint64_t made[OPTIONS_WORKERS_MAX]; // frames that each worker had made at its last answer
};

// Prints the reason as {"error":...} on stdout and as text on stderr, and exits with status 1.
__attribute__((noreturn, format(printf, 1, 2))) void box_die(const char *fmt, ...);

// Returns the lcore of a worker. With options.one_lcore it is always the caller's, as it is for
// worker 0.
unsigned int box_lcore(const struct options *o, unsigned int worker);
// Returns the megabytes of EAL memory that the box needs. Call it before EAL starts. Like every
// function here it ends the process on failure.
uint32_t box_memory_mb(const struct options *o);
// Opens the box and starts its clock.
void box_open(struct box *b, const struct options *o, struct flows *f);
// Stops and frees everything.
void box_close(struct box *b);

// The workers' clock stands still between these two: nothing may expire while the benchmark waits
// for a command.
void box_clock_stop(struct box *b);
void box_clock_go(struct box *b);

// Runs one round of every worker, as its lcore would.
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

// Returns the worker that a flow lives on.
static inline struct worker *box_home(const struct box *b, uint32_t flow)
{
	return b->dp->worker[flow % b->workers];
}

// Answers a worker that has asked for its gateway's MAC. Call it every few rounds; the worker asks
// only once a second. The next round takes the answer.
void box_answer_worker(struct box *b, unsigned int worker);
void box_answer(struct box *b); // answers all workers
// Runs rounds without traffic until the gateway's MAC is known.
void box_settle(struct box *b);
// Runs rounds without traffic until no packet is left between workers.
void box_drain(struct box *b);
// Lets the queues receive this many more frames in all, then none.
void box_limit(struct box *b, uint64_t frames);

// EAL memory of an open box, and its number of allocations.
struct box_memory {
	uint64_t bytes; // in EAL's heaps, with the packet pool, without the port's frames
	uint64_t pool; // of the packet pool
	uint64_t slots; // allocations that can exist
};

struct box_memory box_memory(const struct box *b);

// Returns the counters. Ends the process when a packet was dropped, is held or is missing, when the
// counters do not balance, or when an allocation, permission or channel has ended.
struct dp_stats box_check(struct box *b, const struct options *o);
