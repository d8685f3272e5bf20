// SPDX-License-Identifier: BSD-3-Clause
// A simulated server, its result of a trial, and a search run against it.
#include <math.h>

#include "search_server.h"
#include "test.h"

const struct search_params ndr = {.lo = 1000, .hi = 1e7, .resolution = 0.01, .repeats = 3};
const struct search_params pdr = {
	.lo = 1000, .hi = 1e7, .resolution = 0.01, .loss = 0.005, .repeats = 3};

struct search search;
struct search_result result;

double search_server_chance(struct search_server *s)
{
	return (double)(test_rand(&s->r) >> 11) * 0x1p-53;
}

// Number of packets delivered of those sent.
static double deliver(struct search_server *s, double sent)
{
	const double capacity =
		s->capacity * SECONDS * (1 + s->drift * (2 * search_server_chance(s) - 1)) +
		s->queue;
	const double mean = sent * s->strays * 1e-6;
	double n = sent, lost = 0;

	if (sent > capacity)
		n = fmax(capacity * (1 - s->collapse * (sent / capacity - 1)), capacity / 10);
	if (search_server_chance(s) < s->stalls)
		n *= 0.8;
	for (double left = exp(-mean); search_server_chance(s) > left && lost < 50; lost++)
		left *= search_server_chance(s) + 1; // a few draws; their number matters little
	return floor(fmax(n - lost, 0));
}

struct search_trial search_server_trial(struct search_server *s, double rate)
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
	if (search_server_chance(s) < s->hiccups) {
		received = floor(received * 0.8);
		t.generator_bound = true;
	}
	t.offered = sent / SECONDS;
	t.delivered = received / SECONDS;
	t.loss = (sent - received) / sent;
	if (search_server_chance(s) < s->disturbed) {
		t.loss = search_server_chance(s);
		t.disturbed = true;
	}
	return t;
}

void search_server_run(struct search_server *s, const struct search_params *p)
{
	double rate, again;

	s->trials = 0;
	assert_int_equal(search_init(&search, p), 0);
	while (search_next(&search, &rate)) {
		struct search_trial t;

		assert_true(search_next(&search, &again) && rate == again);
		assert_true(rate >= p->lo && rate <= p->hi);
		t = search_server_trial(s, rate);
		search_report(&search, &t);
		assert_true(s->trials <= SEARCH_TRIALS_MAX);
	}
	search_result(&search, &result);
	assert_int_equal(result.trials, s->trials);
	assert_int_equal(result.state, search.state);
}
