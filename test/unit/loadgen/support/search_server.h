// SPDX-License-Identifier: BSD-3-Clause
// For tests of the search: a simulated server, and a search run against it.
#pragma once

#include "measure/search.h"
#include "test_rand.h"

#define SECONDS 10.0 // duration of a trial

// A simulated server and the generator that loads it. The noise has a fixed seed where a test
// asserts a share of the runs.
struct search_server {
	struct test_rand r;
	double capacity; // packets per second
	double queue; // packets that wait at the end of a trial and still arrive
	double collapse; // share of the capacity lost per overload
	double drift; // the capacity of a trial varies by up to this share
	double stalls; // share of the trials that lose a fifth at any rate
	double strays; // packets lost at random out of a million, at any rate
	double generator; // maximum rate of the generator; 0 = no maximum
	double hiccups; // share of the trials in which the generator loses a fifth itself
	double disturbed; // share of the trials with foreign load: their results are wrong
	unsigned int trials;
};

// Parameters of searches for the highest rate without loss, and with 0.5 % loss.
extern const struct search_params ndr, pdr;

extern struct search search;
extern struct search_result result;

// A random number from 0 to 1, from the noise of s.
double search_server_chance(struct search_server *s);
// Returns the result of a trial of SECONDS at this rate in packets per second, and counts the trial
// in s.
struct search_trial search_server_trial(struct search_server *s, double rate);
// Runs a whole search against s: its state is in search, its outcome in result. Asserts that it
// tries rates within its bounds, at most SEARCH_TRIALS_MAX of them.
void search_server_run(struct search_server *s, const struct search_params *p);
