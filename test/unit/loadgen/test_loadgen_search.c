// SPDX-License-Identifier: BSD-3-Clause
// The search for a rate against a server that does not change: its result, its number of trials,
// and the parameters that it refuses.
#include <errno.h>
#include <math.h>
#include <string.h>

#include "support/search_server.h"
#include "test.h"

// Number of rates that plain bisection tries from the ends of the range.
static double bisection(const struct search_params *p)
{
	return 2 + ceil(log2(log(p->hi / p->lo) / log1p(p->resolution)));
}

// The highest rate that a noiseless server sustains lies in [rate, failed_at), apart from the
// packet or two by which a trial's count is rounded.
static void assert_brackets(const struct search_server *s, const struct search_params *p)
{
	const double limit = (s->capacity + s->queue / SECONDS) * (1 + s->collapse) /
		(1 - p->loss + s->collapse);

	assert_int_equal(result.state, SEARCH_FOUND);
	assert_true(result.rate <= limit + 2 / SECONDS);
	assert_true(result.failed_at >= limit - 2 / SECONDS);
	assert_true(result.failed_at / result.rate - 1 < p->resolution * (1 + 1e-9));
	assert_true(result.loss_median <= p->loss);
	assert_true(fabs(result.delivered / result.rate - 1) < p->loss + 1e-3);
	assert_true(result.spread_lo == result.failed_at);
	assert_true(result.spread_hi == result.rate);
}

// Without noise: exact, and never much more expensive than bisection (with the second round, and
// some rates used for the guess).
static void test_exact(void **state)
{
	struct test_rand r = test_rand_start("exact");

	for (int i = 0; i < 20000; i++) {
		struct search_params p = i % 2 == 0 ? ndr : pdr;
		struct search_server s = {.r = {.s = test_rand(&r)}};

		p.lo = 100 * (1 + test_rand_below(&r, 100));
		p.hi = p.lo * pow(10, 0.01 + 5 * search_server_chance(&s));
		p.resolution = i % 3 == 0 ? 0.01 : 0.001 + 0.1 * search_server_chance(&s);
		p.repeats = 1 + 2 * test_rand_below(&r, 4);
		s.capacity = p.lo * 1.001 * pow(p.hi / p.lo / 1.01, search_server_chance(&s));
		s.queue = i % 5 == 0 ? s.capacity * 0.0005 * SECONDS : 0;
		s.collapse = i % 7 == 0 ? search_server_chance(&s) : 0;
		search_server_run(&s, &p);
		assert_brackets(&s, &p);
		assert_true(s.trials <= (p.repeats / 2 + 1) * (bisection(&p) + 4));
	}
}

// The search is tuned for the usual case.
static void test_trials(void **state)
{
	unsigned int most = 0, sum = 0, n = 0;

	for (double capacity = 1500; capacity < 9e6; capacity *= 1.07, n++) {
		struct search_server s = {.capacity = capacity, .r = {.s = n}};

		search_server_run(&s, &ndr);
		assert_brackets(&s, &ndr);
		sum += s.trials;
		most = s.trials > most ? s.trials : most;
	}
	print_message(
		"trials: %.1f on average, %u at most; bisection with two trials a rate: %.0f\n",
		(double)sum / n, most, 2 * bisection(&ndr));
	assert_true(sum < 2 * bisection(&ndr) * n);
}

static void test_same_again(void **state)
{
	struct search_server a = {.r = {.s = 9}, .capacity = 3e5, .stalls = 0.2, .drift = 0.1},
			     b = a;
	struct search_result first;

	search_server_run(&a, &pdr);
	first = result;
	search_server_run(&b, &pdr);
	assert_memory_equal(&first, &result, sizeof(first));
}

static void test_states(void **state)
{
	struct search_params one = ndr;
	struct search_server s = {.capacity = 2e7};

	search_server_run(&s, &ndr);
	assert_int_equal(result.state, SEARCH_AT_LIMIT);
	assert_true(result.rate == 1e7 && result.failed_at == 0);
	assert_true(result.spread_lo == 0 && result.spread_hi == 1e7);
	assert_int_equal(s.trials, 2);
	s.capacity = 999;
	search_server_run(&s, &ndr);
	assert_int_equal(result.state, SEARCH_NONE);
	assert_true(result.rate == 0 && result.failed_at == 1000 && result.delivered == 0);
	assert_true(result.loss_median > 0 && result.loss_median < 0.01);
	s.capacity = 1000;
	search_server_run(&s, &ndr);
	assert_int_equal(result.state, SEARCH_FOUND);
	assert_true(result.rate == 1000);
	// one rate only: does it pass?
	one.hi = one.lo;
	search_server_run(&s, &one);
	assert_int_equal(result.state, SEARCH_AT_LIMIT);
	s.capacity = 999;
	search_server_run(&s, &one);
	assert_int_equal(result.state, SEARCH_NONE);
	assert_int_equal(s.trials, 2 + 4);
	// a dead server
	s.capacity = 0;
	search_server_run(&s, &ndr);
	assert_int_equal(result.state, SEARCH_NONE);
	assert_true(result.loss_median == 1);
}

// The generator's limit is never reported as the server's; and above the server's limit it does not
// matter.
static void test_generator(void **state)
{
	struct search_server s = {.capacity = 2e6, .generator = 5e5};
	struct search_params p = ndr;

	search_server_run(&s, &ndr);
	assert_int_equal(result.state, SEARCH_GENERATOR_BOUND);
	// a shortfall below the resolution counts as offered
	assert_true(result.rate >= 5e5 / 1.01 && result.rate <= 5e5 * 1.02);
	assert_true(result.failed_at == 0 && result.spread_lo == 0);
	for (double capacity = 5000; capacity < 4.9e5; capacity *= 1.3) {
		s.capacity = capacity;
		search_server_run(&s, &pdr);
		assert_brackets(&s, &pdr);
	}
	s.generator = 100;
	search_server_run(&s, &ndr);
	assert_int_equal(result.state, SEARCH_GENERATOR_BOUND);
	assert_true(result.rate == 0 && result.failed_at == 0);
	// flagged as limited by the generator, but everything offered arrived: a pass
	p.repeats = 1;
	assert_int_equal(search_init(&search, &p), 0);
	search_report(&search,
		&(struct search_trial){.offered = 1e7, .delivered = 1e7, .generator_bound = true});
	assert_int_equal(search.state, SEARCH_AT_LIMIT);
	// not flagged, but not offered
	assert_int_equal(search_init(&search, &p), 0);
	search_report(&search, &(struct search_trial){.offered = 9.8e6, .delivered = 9.8e6});
	assert_int_equal(search.trial[0].verdict, SEARCH_BOUND);
	// lossy, and both flags: not the server's failure
	assert_int_equal(search_init(&search, &p), 0);
	search_report(&search,
		&(struct search_trial){
			.offered = 1e7, .delivered = 1, .loss = 0.9, .generator_bound = true});
	assert_int_equal(search.trial[0].verdict, SEARCH_BOUND);
}

// A generator limit below a rate at which the server really failed: the bracket is reported
// unchanged.
static void test_generator_between(void **state)
{
	struct search_params p = {.lo = 100, .hi = 200, .resolution = 0.3, .repeats = 1};
	double rate;

	assert_int_equal(search_init(&search, &p), 0);
	while (search_next(&search, &rate)) {
		struct search_trial t = {.offered = rate, .delivered = rate};

		if (rate > 190)
			t.loss = 0.1;
		else if (rate > 120)
			t.offered = 120;
		search_report(&search, &t);
	}
	search_result(&search, &result);
	assert_int_equal(result.state, SEARCH_GENERATOR_BOUND);
	assert_true(result.failed_at == 200);
	assert_true(result.rate >= 100 && result.rate < 124);
}

static double wild(struct test_rand *r)
{
	static const double odd[] = {
		0, -1, 1, 1e300, -1e300, INFINITY, -INFINITY, NAN, 0.005, 1e-300};

	return test_rand_below(r, 3) == 0 ? odd[test_rand_below(r, 10)]
					  : pow(10, test_rand_below(r, 12)) - 1;
}

static void assert_sane(const struct search_params *p)
{
	const double v[] = {result.rate, result.failed_at, result.delivered, result.loss_median,
		result.spread_lo, result.spread_hi};

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		assert_true(isfinite(v[i]) && v[i] >= 0);
	assert_true(result.loss_median <= 1);
	assert_true(result.rate == 0 || (result.rate >= p->lo && result.rate <= p->hi));
	assert_true(result.failed_at == 0 || result.failed_at > result.rate);
	if (result.state == SEARCH_FOUND)
		assert_true(result.rate > 0 &&
			result.failed_at / result.rate - 1 <= p->resolution * (1 + 1e-9));
}

// Whatever the trials return, the search ends, within the bounds and with finite numbers.
static void test_any_trials(void **state)
{
	struct test_rand r = test_rand_start("any trials");
	unsigned int seen[SEARCH_UNSETTLED + 1] = {0};

	for (int i = 0; i < 30000; i++) {
		struct search_params p = {.lo = 1e3,
			.hi = 1e3 * pow(10, test_rand_below(&r, 9)),
			.resolution = pow(10, -(double)test_rand_below(&r, 7)),
			.loss = test_rand_below(&r, 2) * 0.005,
			.repeats = 1 + 2 * test_rand_below(&r, 8)};
		const uint32_t often = 1 + test_rand_below(&r, 10);
		unsigned int trials = 0;
		double rate;

		assert_int_equal(search_init(&search, &p), 0);
		for (; search_next(&search, &rate); trials++) {
			struct search_trial t = {.rate = wild(&r),
				.offered = test_rand_below(&r, 10) > 0 ? rate : wild(&r),
				.delivered = wild(&r),
				.loss = test_rand_below(&r, 10) < often ? 0 : wild(&r),
				.generator_bound = test_rand_below(&r, 10) == 0,
				.disturbed = test_rand_below(&r, 10) == 0};

			assert_true(rate >= p.lo && rate <= p.hi);
			search_report(&search, &t);
			assert_in_range(trials, 0, SEARCH_TRIALS_MAX - 1);
		}
		search_report(&search, &(struct search_trial){0}); // ignored
		search_result(&search, &result);
		assert_int_equal(result.trials, trials);
		seen[result.state]++;
		assert_sane(&p);
	}
	assert_int_equal(seen[SEARCH_RUNNING], 0);
	for (int i = SEARCH_FOUND; i <= SEARCH_UNSETTLED; i++)
		assert_true(seen[i] > 0);
}

static void test_params(void **state)
{
	static const struct search_params bad[] = {
		{.lo = 0, .hi = 10, .resolution = 0.01, .repeats = 3},
		{.lo = -1, .hi = 10, .resolution = 0.01, .repeats = 3},
		{.lo = 11, .hi = 10, .resolution = 0.01, .repeats = 3},
		{.lo = NAN, .hi = 10, .resolution = 0.01, .repeats = 3},
		{.lo = 1, .hi = NAN, .resolution = 0.01, .repeats = 3},
		{.lo = 1, .hi = INFINITY, .resolution = 0.01, .repeats = 3},
		{.lo = 1, .hi = 10, .resolution = 0, .repeats = 3},
		{.lo = 1, .hi = 10, .resolution = 1.1, .repeats = 3},
		{.lo = 1, .hi = 10, .resolution = NAN, .repeats = 3},
		{.lo = 1, .hi = 10, .resolution = 0.01, .loss = 1, .repeats = 3},
		{.lo = 1, .hi = 10, .resolution = 0.01, .loss = -0.1, .repeats = 3},
		{.lo = 1, .hi = 10, .resolution = 0.01, .loss = NAN, .repeats = 3},
		{.lo = 1, .hi = 10, .resolution = 0.01, .repeats = 0},
		{.lo = 1, .hi = 10, .resolution = 0.01, .repeats = 2},
		{.lo = 1, .hi = 10, .resolution = 0.01, .repeats = 17},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(search_init(&search, &bad[i]), -EINVAL);
	assert_int_equal(search_init(&search, &ndr), 0);
}

static void test_texts(void **state)
{
	for (int a = SEARCH_RUNNING; a <= SEARCH_UNSETTLED; a++) {
		assert_true(strlen(search_state_text((enum search_state)a)) > 0);
		for (int b = SEARCH_RUNNING; b < a; b++)
			assert_string_not_equal(search_state_text((enum search_state)a),
				search_state_text((enum search_state)b));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exact),
		cmocka_unit_test(test_trials),
		cmocka_unit_test(test_same_again),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_generator),
		cmocka_unit_test(test_generator_between),
		cmocka_unit_test(test_any_trials),
		cmocka_unit_test(test_params),
		cmocka_unit_test(test_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
