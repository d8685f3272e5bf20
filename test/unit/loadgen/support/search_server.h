// SPDX-License-Identifier: BSD-3-Clause
// For tests of the search: a simulated server, and a search run against it.
#pragma once

#include "measure/search.h"
#include "test_rand.h"

#define SECONDS 10.0 // of a trial

// A simulated server and the generator in front of it. Noise comes from a seed that is fixed where
// a share of the runs is asserted.
struct search_server {
	struct test_rand r;
	double capacity; // packets per second
	double queue; // packets that wait at the end of a trial and still arrive
	double collapse; // share of the capacity lost for each time it is overloaded
	double drift; // the capacity of a trial differs by up to this share
	double stalls; // share of the trials that lose a fifth whatever the rate
	double strays; // packets lost out of a million whatever the rate, at random
	double generator; // rate that the generator cannot exceed; 0 = none
	double hiccups; // share of the trials in which the generator loses a fifth itself
	double disturbed; // share of the trials beside foreign load: nothing they say is true
	unsigned int trials;
};

// Searches for the highest rate without loss, and for that with 0.5 % of it.
extern const struct search_params ndr, pdr;

extern struct search search;
extern struct search_result result;

// A random number from 0 to 1, of the noise of s.
double search_server_chance(struct search_server *s);
// What a trial of SECONDS at this rate in packets per second would report of s, which counts it.
struct search_trial search_server_trial(struct search_server *s, double rate);
// A whole search against s: its state is in search, what it found in result. Asserts that it asks
// for rates within its bounds, and for SEARCH_TRIALS_MAX of them at most.
void search_server_run(struct search_server *s, const struct search_params *p);
