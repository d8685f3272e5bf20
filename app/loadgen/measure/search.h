// SPDX-License-Identifier: BSD-3-Clause
// Looks for the highest rate that a server sustains: NDR (no drop, RFC 2544 26.1 in spirit) or PDR
// (at most a given loss). The caller makes the trials. The search is a bisection with repeats, made
// for noisy machines: a rate passes by the majority of its trials, a failure that decides the
// answer must show again in a second and longer round, and the result says how far the trials
// disagree. PURE and deterministic. Rates are per second, in any unit the caller sends. One owner.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SEARCH_TRIALS_MAX 256
#define SEARCH_REPEATS_MAX 15

enum search_state {
	SEARCH_RUNNING,
	SEARCH_FOUND, // the answer lies in rate .. failed_at, as close as the resolution asks
	SEARCH_AT_LIMIT, // even the highest rate passed: the answer is "at least"
	SEARCH_NONE, // even the lowest rate failed
	SEARCH_GENERATOR_BOUND, // the generator could not offer more: the answer is "at least"
	SEARCH_UNSETTLED, // trials ran out: rate .. failed_at is wider than the resolution
};

struct search_params {
	double lo, hi; // rates to search between, 0 < lo <= hi
	double resolution; // relative, 1e-6 .. 1, e.g. 0.01: stop when hi / lo - 1 is below it
	double loss; // accepted share of lost packets, from 0 (NDR) to below 1
	unsigned int repeats; // trials of each rate: odd, at most SEARCH_REPEATS_MAX
};

// The verdict of a trial on its rate.
enum search_verdict {
	SEARCH_PASSED,
	SEARCH_FAILED,
	SEARCH_BOUND, // the generator's limit: says nothing about the server
	SEARCH_REPEATED, // disturbed: not counted and made again
};

// The measurements of a trial.
struct search_trial {
	double rate; // the rate that was asked for
	double offered; // the rate that was really sent
	double delivered; // per second
	double loss; // share, 0..1
	double p50_us, p99_us; // latency in microseconds, 0 when unknown; kept for the report only
	// The generator was at a limit: the trial says nothing about the server when loss exceeds
	// the accepted share. (An `offered` more than 1 % short says nothing either way.)
	bool generator_bound;
	bool disturbed; // by foreign load: the trial is repeated, at most twice
	enum search_verdict verdict; // set by search_report
};

struct search {
	struct search_params params;
	enum search_state state;
	double lo, hi; // highest rate that passed, lowest that did not; 0 = none yet
	double rate; // being tried
	unsigned int passes, fails, bounds, retries; // trials of this rate in this round
	bool confirming; // this is the second round of rate hi
	double guess; // where the answer is expected; 0 before the highest rate has failed
	unsigned int nb_trials;
	struct search_trial trial[SEARCH_TRIALS_MAX];
	unsigned int nb_failed;
	struct {
		double rate;
		bool bound; // the generator's limit, not the server's
	} failed[SEARCH_TRIALS_MAX]; // rates that did not pass, descending; the last one is hi
};

struct search_result {
	enum search_state state;
	double rate; // highest rate whose trials passed by majority; 0 when none did
	double failed_at; // lowest rate above it at which the server failed; 0 when none did
	double delivered; // median delivered rate of the passing trials at `rate`; 0 when none
	double loss_median; // of the trials at `rate` (at the lowest rate when none passed)
	// Range of the noise: lowest rate at which any trial failed, and highest at which any
	// passed; 0 if there is no such rate. When no trial disagreed these are failed_at and rate,
	// so spread_lo > spread_hi.
	double spread_lo, spread_hi;
	unsigned int trials; // all trials made, repeated ones included
};

// Begins a search. Returns 0, or -EINVAL when the parameters make no sense.
int search_init(struct search *s, const struct search_params *p);
// True: make a trial at *rate and report it. False: the search is over.
bool search_next(const struct search *s, double *rate);
// Stores the measurements of the trial at that rate. A NaN or infinite number counts as the worst:
// nothing sent, nothing delivered, all lost.
void search_report(struct search *s, const struct search_trial *t);
// Writes the current result; may be called while the search still runs.
void search_result(const struct search *s, struct search_result *out);
const char *search_state_text(enum search_state s); // "found", "at least (highest rate)", ...
