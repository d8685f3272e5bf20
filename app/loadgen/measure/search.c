// SPDX-License-Identifier: BSD-3-Clause
// The search for the highest rate, as a state machine that processes one trial after another.
#include <errno.h>
#include <math.h>

#include "measure/search.h"

#define RETRIES_MAX 2 // number of times that a disturbed trial is made again
#define OFFERED_MIN 0.99 // a trial that offers this share of the rate asked for counts in full
#define GUESS_REACH 1.35 // factor within which the first guess is believed to be right

// The search starts at the highest rate. If that passes, the search is over. If it fails, the rate
// that the server still delivers under overload is the guess: for most servers it is near the
// limit. The next rates tried are the guess divided and multiplied by GUESS_REACH. Mostly the
// answer lies between two rates after three rates tried, two of them lossy; a bisection of a range
// of 1:10,000 needs six and more. A wrong guess (the server collapses under overload, or loses a
// little at any rate) costs a rate or two more than plain bisection. A search that grew from the
// lowest rate would overload the server only once, but would spend ten rates and more on proof that
// the server is not broken. Between two rates the next one is their geometric mean, because the
// resolution is relative.
//
// A stall can make a rate fail that the server sustains. The search would then never try a higher
// rate again. So the failure that would end the search gets a second round, with twice as many
// trials plus one. If that round passes, the failure was noise: the rate counts as passed, and the
// search continues above it. A pass needs no second round: noise takes packets away, it does not
// deliver them.

static bool params_valid(const struct search_params *p)
{
	return p->lo > 0 && p->hi >= p->lo && isfinite(p->hi) && p->resolution >= 1e-6 &&
		p->resolution <= 1 && p->loss >= 0 && p->loss < 1 && p->repeats % 2 == 1 &&
		p->repeats <= SEARCH_REPEATS_MAX;
}

static void round_begin(struct search *s, double rate, bool confirming)
{
	s->rate = rate;
	s->confirming = confirming;
	s->passes = s->fails = s->bounds = s->retries = 0;
}

int search_init(struct search *s, const struct search_params *p)
{
	if (!params_valid(p))
		return -EINVAL;
	*s = (struct search){.params = *p};
	round_begin(s, p->hi, false);
	return 0;
}

bool search_next(const struct search *s, double *rate)
{
	*rate = s->rate;
	return s->state == SEARCH_RUNNING;
}

// Returns a rate inside (lo, hi): hi has failed, and lo has passed or is the lowest rate allowed.
static double rate_between(const struct search *s, double lo, double hi)
{
	const double step = 1 + s->params.resolution;
	const double below = s->guess / GUESS_REACH, above = s->guess * GUESS_REACH;

	if (s->guess > 0 && s->lo == 0 && below > lo * step && below * step < hi)
		return below;
	if (s->guess > 0 && above > lo * step && above * step < hi)
		return above;
	return sqrt(lo) * sqrt(hi);
}

static void choose_rate(struct search *s)
{
	const double lo = s->lo > 0 ? s->lo : s->params.lo;

	s->hi = s->failed[s->nb_failed - 1].rate;
	if (s->hi > lo && s->hi / lo - 1 >= s->params.resolution)
		round_begin(s, rate_between(s, lo, s->hi), false);
	else if (s->lo == 0 && s->hi > lo)
		round_begin(s, lo, false);
	else
		round_begin(s, s->hi, true);
}

// Returns the median over a rate's counted trials, or over those that passed; 0 if there are no
// such trials. of_loss: the median loss, else the median delivered rate.
static double trials_median(const struct search *s, double rate, bool passed, bool of_loss)
{
	double v[SEARCH_TRIALS_MAX];
	unsigned int n = 0;

	for (unsigned int i = 0; i < s->nb_trials; i++) {
		const struct search_trial *t = &s->trial[i];
		const double value = of_loss ? t->loss : t->delivered;
		unsigned int k;

		if (t->rate != rate || t->verdict == SEARCH_REPEATED ||
			(passed && t->verdict != SEARCH_PASSED))
			continue;
		for (k = n++; k > 0 && v[k - 1] > value; k--)
			v[k] = v[k - 1];
		v[k] = value;
	}
	return n == 0 ? 0 : (v[(n - 1) / 2] + v[n / 2]) / 2;
}

static void rate_passed(struct search *s)
{
	if (s->confirming)
		s->nb_failed--;
	s->lo = s->rate;
	if (s->nb_failed != 0) {
		choose_rate(s);
		return;
	}
	s->hi = 0;
	s->state = SEARCH_AT_LIMIT; // nothing has failed, so this is the highest rate
}

static void rate_failed(struct search *s)
{
	const bool bound = s->bounds >= s->fails; // in doubt it is the generator's limit

	if (s->confirming) {
		s->failed[s->nb_failed - 1].bound = bound;
		s->state =
			bound ? SEARCH_GENERATOR_BOUND : (s->lo > 0 ? SEARCH_FOUND : SEARCH_NONE);
		return;
	}
	if (s->nb_failed == 0)
		s->guess = trials_median(s, s->rate, false, false);
	s->failed[s->nb_failed].rate = s->rate;
	s->failed[s->nb_failed++].bound = bound;
	choose_rate(s);
}

// Ends the round as soon as more trials cannot change its outcome. The outcome includes which
// failed, the server or the generator.
static void round_judge(struct search *s)
{
	const unsigned int trials = s->params.repeats * (s->confirming ? 2 : 1) + s->confirming;
	const unsigned int majority = trials / 2 + 1;

	if (s->passes >= majority)
		rate_passed(s);
	else if (s->fails >= majority || s->bounds >= majority ||
		s->passes + s->fails + s->bounds == trials)
		rate_failed(s);
}

static double sane_value(double v)
{
	return isfinite(v) && v >= 0 ? v : 0;
}

static enum search_verdict trial_judge(const struct search *s, const struct search_trial *t)
{
	if (t->disturbed && s->retries < RETRIES_MAX)
		return SEARCH_REPEATED;
	if (t->offered < s->rate * OFFERED_MIN)
		return SEARCH_BOUND;
	if (t->loss <= s->params.loss)
		return SEARCH_PASSED;
	return t->generator_bound ? SEARCH_BOUND : SEARCH_FAILED;
}

void search_report(struct search *s, const struct search_trial *t)
{
	struct search_trial *entry;

	if (s->state != SEARCH_RUNNING)
		return;
	entry = &s->trial[s->nb_trials++];
	*entry = *t;
	entry->rate = s->rate;
	entry->offered = sane_value(t->offered);
	entry->delivered = sane_value(t->delivered);
	entry->p50_us = sane_value(t->p50_us);
	entry->p99_us = sane_value(t->p99_us);
	entry->loss = t->loss < 1 ? (t->loss > 0 ? t->loss : 0) : 1; // NaN becomes 1
	entry->verdict = trial_judge(s, entry);
	if (entry->verdict == SEARCH_REPEATED) {
		s->retries++;
	} else {
		s->retries = 0;
		s->passes += entry->verdict == SEARCH_PASSED;
		s->fails += entry->verdict == SEARCH_FAILED;
		s->bounds += entry->verdict == SEARCH_BOUND;
		round_judge(s);
	}
	if (s->state == SEARCH_RUNNING && s->nb_trials == SEARCH_TRIALS_MAX)
		s->state = SEARCH_UNSETTLED;
}

void search_result(const struct search *s, struct search_result *out)
{
	const double rate = s->lo > 0 ? s->lo : s->params.lo;

	*out = (struct search_result){.state = s->state, .rate = s->lo, .trials = s->nb_trials};
	for (unsigned int i = 0; i < s->nb_failed; i++)
		if (!s->failed[i].bound)
			out->failed_at = s->failed[i].rate;
	out->delivered = trials_median(s, rate, true, false);
	out->loss_median = trials_median(s, rate, false, true);
	for (unsigned int i = 0; i < s->nb_trials; i++) {
		const struct search_trial *t = &s->trial[i];

		if (t->verdict == SEARCH_FAILED &&
			(out->spread_lo <= 0 || t->rate < out->spread_lo))
			out->spread_lo = t->rate;
		if (t->verdict == SEARCH_PASSED && t->rate > out->spread_hi)
			out->spread_hi = t->rate;
	}
}

const char *search_state_text(enum search_state s)
{
	static const char *const text[] = {
		[SEARCH_RUNNING] = "running",
		[SEARCH_FOUND] = "found",
		[SEARCH_AT_LIMIT] = "at least (highest rate)",
		[SEARCH_NONE] = "none (lowest rate failed)",
		[SEARCH_GENERATOR_BOUND] = "at least (generator bound)",
		[SEARCH_UNSETTLED] = "unsettled (trials ran out)",
	};

	return text[s];
}
