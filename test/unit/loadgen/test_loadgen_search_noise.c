// SPDX-License-Identifier: BSD-3-Clause
// The search for a rate against servers and generators that stall, drift and lose at random: how
// often it finds the right rate.
#include <math.h>

#include "support/search_server.h"
#include "test.h"

#define RUNS 400 // searches against a noisy server; seeds are fixed, so shares can be asserted

// Results of many runs relative to the truth: too low, right, too high.
struct tally {
	unsigned int low, good, high, none, trials;
	double least, most;
};

static struct tally tally_runs(
	const struct search_server *noisy, const struct search_params *p, double within)
{
	struct tally t = {.least = 1e300};

	for (unsigned int i = 0; i < RUNS; i++) {
		struct search_server s = *noisy;
		double ratio;

		s.r.s = i * 7919 + 1;
		s.capacity *= 1 + i * 0.001;
		search_server_run(&s, p);
		ratio = result.rate / s.capacity;
		t.none += result.state != SEARCH_FOUND;
		t.low += ratio < 1 - within;
		t.high += ratio > 1 + within;
		t.good += fabs(ratio - 1) <= within;
		t.least = fmin(t.least, ratio);
		t.most = fmax(t.most, ratio);
		t.trials += s.trials;
	}
	print_message("%u low, %u good, %u high, %u not found, answers %.3f .. %.3f, %.1f trials\n",
		t.low, t.good, t.high, t.none, t.least, t.most, (double)t.trials / RUNS);
	return t;
}

// Stalls in up to a quarter of the trials: the majority and the second round keep the result.
static void test_stalls(void **state)
{
	struct search_server s = {.capacity = 3e5, .stalls = 0.1};
	struct search_params p = pdr;
	struct tally t = tally_runs(&s, &p, 0.03);

	assert_true(t.good >= RUNS * 995 / 1000 && t.high == 0);
	s.stalls = 0.2;
	t = tally_runs(&s, &p, 0.03);
	assert_true(t.good >= RUNS * 97 / 100 && t.high == 0);
	s.stalls = 0.24;
	p.repeats = 5;
	t = tally_runs(&s, &p, 0.03);
	assert_true(t.good >= RUNS * 98 / 100 && t.high == 0);
}

// The generator stalls instead: this is not mistaken for the server's limit either.
static void test_hiccups(void **state)
{
	const struct search_server s = {.capacity = 3e5, .hiccups = 0.2};
	const struct tally t = tally_runs(&s, &pdr, 0.03);

	assert_true(t.good >= RUNS * 98 / 100 && t.high == 0 && t.none < RUNS / 10);
}

static void test_drift(void **state)
{
	const struct search_server s = {.capacity = 3e5, .drift = 0.1};
	const struct tally t = tally_runs(&s, &pdr, 0.05);

	assert_true(t.least >= 0.9 && t.most <= 1.11);
	assert_true(t.good >= RUNS * 85 / 100 && t.none == 0);
}

// All kinds of noise together.
static void test_mixed_noise(void **state)
{
	const struct search_server s = {.capacity = 3e5,
		.drift = 0.05,
		.stalls = 0.1,
		.strays = 2,
		.hiccups = 0.05,
		.disturbed = 0.1,
		.collapse = 0.05,
		.generator = 2e6,
		.queue = 1000};
	const struct tally t = tally_runs(&s, &pdr, 0.07);

	assert_true(t.good >= RUNS * 99 / 100 && t.most < 1.07);
}

// A single stall, wherever it falls, does not change the result: the failure does not repeat.
static void test_refuted(void **state)
{
	const double capacity = 3e5;

	for (unsigned int bad_trial = 0; bad_trial < 24; bad_trial++) {
		double rate;

		assert_int_equal(search_init(&search, &ndr), 0);
		while (search_next(&search, &rate)) {
			const unsigned int n = search.nb_trials;
			struct search_trial t = {
				.offered = rate, .delivered = fmin(rate, capacity)};

			if (n == bad_trial || n == bad_trial + 1)
				t.delivered *= 0.8;
			t.loss = 1 - t.delivered / rate;
			search_report(&search, &t);
		}
		search_result(&search, &result);
		assert_int_equal(result.state, SEARCH_FOUND);
		assert_true(result.rate <= capacity && result.failed_at > capacity);
		assert_true(result.failed_at / result.rate < 1.01);
	}
	// in the first trials of a server without a limit
	assert_int_equal(search_init(&search, &ndr), 0);
	for (double rate; search_next(&search, &rate);)
		search_report(&search,
			&(struct search_trial){.offered = rate,
				.delivered = rate,
				.loss = search.nb_trials < 2 ? 0.2 : 0});
	assert_int_equal(search.state, SEARCH_AT_LIMIT);
}

// The result reports how far the trials disagree: with drift, failures begin below the highest
// pass, and both are near the capacity.
static void test_spread(void **state)
{
	struct search_server s = {.capacity = 3e5, .drift = 0.1};
	unsigned int told = 0, seen = 0;

	for (unsigned int i = 0; i < RUNS; i++) {
		s.r.s = i;
		search_server_run(&s, &pdr);
		assert_true(result.spread_hi >= result.rate && result.spread_hi <= 3.32e5);
		assert_true(result.spread_lo <= result.failed_at && result.spread_lo >= 2.69e5);
		for (unsigned int k = 0; k < search.nb_trials; k++) {
			const struct search_trial *t = &search.trial[k];

			assert_true(t->loss <= pdr.loss ? t->rate <= result.spread_hi
							: t->rate >= result.spread_lo);
			seen += t->rate == result.spread_lo && t->loss > pdr.loss;
			seen += t->rate == result.spread_hi && t->loss <= pdr.loss;
		}
		told += result.spread_lo <= result.spread_hi;
	}
	assert_true(told > RUNS / 2 && seen >= 2 * RUNS);
}

// Single packets are lost at any rate: NDR gives a lower result than PDR, or no result.
static void test_ndr_and_pdr(void **state)
{
	static const double strays[] = {0.05, 0.5, 5, 500};
	unsigned int lower = 0, none = 0;

	for (unsigned int i = 0; i < RUNS; i++) {
		struct search_server s = {.r = {.s = i}, .capacity = 3e5, .strays = strays[i % 4]};
		double of_pdr;

		search_server_run(&s, &pdr);
		of_pdr = result.rate;
		assert_true(fabs(of_pdr / s.capacity - 1) < 0.02);
		search_server_run(&s, &ndr);
		assert_true(result.state == SEARCH_NONE || result.state == SEARCH_FOUND);
		assert_true(result.rate <= of_pdr * 1.001);
		lower += result.rate < 0.9 * of_pdr;
		none += result.state == SEARCH_NONE;
	}
	assert_true(lower > RUNS / 2);
	assert_true(none >= RUNS / 5);
}

// Disturbed trials are repeated, twice at most, and do not count.
static void test_disturbed(void **state)
{
	struct search_trial bad = {.offered = 1e7, .loss = 1, .disturbed = true};
	const struct search_trial good = {.offered = 1e7, .delivered = 1e7};
	struct search_server s = {.capacity = 3e5, .disturbed = 0.1};
	struct tally t;

	assert_int_equal(search_init(&search, &ndr), 0);
	for (int i = 0; i < 2; i++) {
		search_report(&search, &bad);
		search_report(&search, &bad);
		assert_int_equal(search.passes, i);
		search_report(&search, &good);
	}
	assert_int_equal(search.state, SEARCH_AT_LIMIT);
	assert_int_equal(search.nb_trials, 6);
	assert_int_equal(search.trial[0].verdict, SEARCH_REPEATED);
	assert_int_equal(search.trial[5].verdict, SEARCH_PASSED);
	search_result(&search, &result);
	assert_true(result.loss_median == 0 && result.delivered == 1e7);
	assert_int_equal(search_init(&search, &ndr), 0);
	for (int i = 0; i < 3; i++)
		search_report(&search, &bad);
	assert_int_equal(search.trial[2].verdict, SEARCH_FAILED); // the third one counts
	t = tally_runs(&s, &pdr, 0.01);
	assert_int_equal(t.good, RUNS);
	// only disturbed trials: three times the number, and an end
	s = (struct search_server){.capacity = 3e5, .disturbed = 2};
	search_server_run(&s, &pdr);
	assert_int_not_equal(result.state, SEARCH_RUNNING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stalls),
		cmocka_unit_test(test_hiccups),
		cmocka_unit_test(test_refuted),
		cmocka_unit_test(test_drift),
		cmocka_unit_test(test_mixed_noise),
		cmocka_unit_test(test_spread),
		cmocka_unit_test(test_ndr_and_pdr),
		cmocka_unit_test(test_disturbed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
