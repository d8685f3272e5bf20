// SPDX-License-Identifier: BSD-3-Clause
// For tests of the search: a simulated server, and a search run against it. Include cmocka.h first.
#pragma once

#include <math.h>

#include "measure/search.h"
#include "test_rand.h"

#define SECONDS 10.0 // of a trial

// A simulated server and the generator in front of it. Noise comes from a seed that is fixed where
// a share of the runs is asserted.
struct server {
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

static struct search search;
static struct search_result result;

static inline double chance(struct server *s)
{
	return (double)(test_rand(&s->r) >> 11) * 0x1p-53;
}

// Packets delivered of those sent.
static inline double deliver(struct server *s, double sent)
{
	const double capacity =
		s->capacity * SECONDS * (1 + s->drift * (2 * chance(s) - 1)) + s->queue;
	const double mean = sent * s->strays * 1e-6;
	double n = sent, lost = 0;

	if (sent > capacity)
		n = fmax(capacity * (1 - s->collapse * (sent / capacity - 1)), capacity / 10);
	if (chance(s) < s->stalls)
		n *= 0.8;
	for (double left = exp(-mean); chance(s) > left && lost < 50; lost++)
		left *= chance(s) + 1; // few or none: how many matters little
	return floor(fmax(n - lost, 0));
}

static inline struct search_trial make_trial(struct server *s, double rate)
{
	struct search_trial t = {.rate = rate};
	double sent = rate, received;

	s->trials++;
	if (s->generator > 0 && rate > s->generator) {
		sent = s->generator;
		t.generator_bound = true;
	}
	sent = floor(sent * SECONDS);
	received = deliver(s, sent);
	if (chance(s) < s->hiccups) {
		received = floor(received * 0.8);
		t.generator_bound = true;
	}
	t.offered = sent / SECONDS;
	t.delivered = received / SECONDS;
	t.loss = (sent - received) / sent;
	if (chance(s) < s->disturbed) {
		t.loss = chance(s);
		t.disturbed = true;
	}
	return t;
}

static inline void run(struct server *s, const struct search_params *p)
{
	double rate, again;

	s->trials = 0;
	assert_int_equal(search_init(&search, p), 0);
	while (search_next(&search, &rate)) {
		struct search_trial t;

		assert_true(search_next(&search, &again) && rate == again);
		assert_true(rate >= p->lo && rate <= p->hi);
		t = make_trial(s, rate);
		search_report(&search, &t);
		assert_true(s->trials <= SEARCH_TRIALS_MAX);
	}
	search_result(&search, &result);
	assert_int_equal(result.trials, s->trials);
	assert_int_equal(result.state, search.state);
}

static const struct search_params ndr = {.lo = 1000, .hi = 1e7, .resolution = 0.01, .repeats = 3};
static const struct search_params pdr = {
	.lo = 1000, .hi = 1e7, .resolution = 0.01, .loss = 0.005, .repeats = 3};
