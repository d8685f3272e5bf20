// SPDX-License-Identifier: BSD-3-Clause
// Looks for the highest rate a server sustains, by trials that somebody else makes: NDR (no drop,
// RFC 2544 26.1 in spirit) or PDR (at most a given loss). Bisection with repeats, made for noisy
// machines: a rate passes by the majority of its trials, a failure that decides the answer has to
// show in a second and longer round, and how far the trials disagree is part of the result. PURE
// and deterministic. Rates are per second, of whatever the caller sends. One owner.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SEARCH_TRIALS_MAX 256
#define SEARCH_REPEATS_MAX 15

enum search_state {
	SEARCH_RUNNING,
	SEARCH_FOUND, // rate .. failed_at bracket the answer to within the resolution
	SEARCH_AT_LIMIT, // even the highest rate passed: the answer is "at least"
	SEARCH_NONE, // even the lowest rate failed
	SEARCH_GENERATOR_BOUND, // the generator could not offer more: the answer is "at least"
	SEARCH_UNSETTLED, // trials ran out: rate .. failed_at bracket it, wider than asked
};

struct search_params {
	double lo, hi; // rates to search between, 0 < lo <= hi
	double resolution; // relative: stop when hi / lo - 1 is below; 1e-6 .. 1, e.g. 0.01
	double loss; // accepted share of lost packets, 0 (NDR) .. below 1
	unsigned int repeats; // trials of a rate, odd, SEARCH_REPEATS_MAX at most; majority decides
};

// What a trial said of its rate.
enum search_verdict {
	SEARCH_PASSED,
	SEARCH_FAILED,
	SEARCH_BOUND, // the generator's limit, says nothing of the server
	SEARCH_REPEATED, // disturbed: made again, not counted
};

// What a trial measured.
struct search_trial {
	double rate; // asked for
	double offered; // really sent per second
	double delivered; // per second
	double loss; // share, 0..1
	double p50_us, p99_us; // latency in microseconds, 0 when unknown; only kept for the report
	bool generator_bound; // says nothing of the server when loss exceeds the limit, or when
		// offered falls short (by more than 1 %, whether this is set or not)
	bool disturbed; // foreign load: to be repeated, at most twice a trial
	enum search_verdict verdict; // set by search_report
};

struct search {
	struct search_params params;
	enum search_state state;
	double lo, hi; // highest rate passed (0: none), lowest not passed (0: none)
	double rate; // being tried
	unsigned int passes, fails, bounds, retries; // of this rate, in this round
	bool confirming; // second round, of hi
	double guess; // where the answer is expected; 0 before the highest rate has failed
	unsigned int nb_trials;
	struct search_trial trial[SEARCH_TRIALS_MAX];
	unsigned int nb_failed;
	struct {
		double rate;
		bool bound; // by the generator
	} failed[SEARCH_TRIALS_MAX]; // rates not passed, descending; the last one is hi
};

struct search_result {
	enum search_state state;
	double rate; // highest rate whose trials passed by majority; 0 when none did
	double failed_at; // lowest rate at which the server failed above it; 0 when none did
	double delivered; // median delivered rate of the passing trials at `rate`; 0 when none
	double loss_median; // of the trials at `rate` (at the lowest rate when none passed)
	double spread_lo, spread_hi; // lowest rate of which any trial failed, highest of which any
		// passed: where the noise is (equal to failed_at and rate
		// when no trial disagreed, so lo > hi); 0 when there is none
	unsigned int trials; // all made, repeated ones included
};

// 0, or -EINVAL when the parameters make no sense.
int search_init(struct search *s, const struct search_params *p);
// True: make a trial at *rate and report it. False: the search is over.
bool search_next(const struct search *s, double *rate);
// What the trial at that rate measured. Numbers that are none count as nothing sent, nothing
// delivered, all lost.
void search_report(struct search *s, const struct search_trial *t);
// May be asked while the search runs, too.
void search_result(const struct search *s, struct search_result *out);
const char *search_state_text(enum search_state s); // "found", "at least (highest rate)", ...
