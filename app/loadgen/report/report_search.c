// SPDX-License-Identifier: BSD-3-Clause
// A search: a row per trial, then the answer with its spread.
#include "report/report_search.h"

#include "report/text.h"

#define PDR_BESIDE 0.005 // accepted loss of the PDR that is printed with an NDR

void report_search_trial(FILE *f, const struct search_trial *t, unsigned int number)
{
	static const char *const verdicts[] = {
		[SEARCH_PASSED] = "passed",
		[SEARCH_FAILED] = "failed",
		[SEARCH_BOUND] = "generator-bound: says nothing about the server",
		[SEARCH_REPEATED] = "disturbed: repeated",
	};

	if (number <= 1)
		fprintf(f, "%5s %12s %12s %12s %9s %9s %9s  %s\n", "trial", "rate", "offered",
			"delivered", "loss %", "p50 us", "p99 us", "verdict");
	fprintf(f, "%5u %12s %12s %12s %9s %9s %9s  %s\n", number, text_rate(t->rate).s,
		text_rate(t->offered).s, text_rate(t->delivered).s, text_percent(t->loss).s,
		t->p50_us > 0 ? text_us(t->p50_us).s : "-",
		t->p99_us > 0 ? text_us(t->p99_us).s : "-",
		t->verdict <= SEARCH_REPEATED ? verdicts[t->verdict] : "");
	fflush(f);
}

// True if more than half of the trials at a rate lost no more than the share `loss`.
static bool rate_passes(const struct search *s, double rate, double loss)
{
	unsigned int pass = 0, all = 0;

	for (unsigned int i = 0; i < s->nb_trials; i++) {
		const struct search_trial *t = &s->trial[i];

		if (t->rate < rate || t->rate > rate || t->verdict == SEARCH_REPEATED)
			continue;
		all++;
		pass += t->verdict != SEARCH_BOUND && t->loss <= loss ? 1 : 0;
	}
	return 2 * pass > all;
}

// Prints a PDR with the NDR. One lost datagram can lower an NDR; its trials say something about the
// PDR as well.
static void search_pdr(FILE *f, const struct search *s)
{
	double best = 0;

	for (unsigned int i = 0; i < s->nb_trials; i++)
		if (s->trial[i].rate > best && rate_passes(s, s->trial[i].rate, PDR_BESIDE))
			best = s->trial[i].rate;
	if (best > 0)
		fprintf(f, "%-10s %s at least, for these trials with up to %g %% of loss\n", "pdr",
			text_rate(best).s, PDR_BESIDE * 100);
}

static void search_spread(FILE *f, const struct search_result *r)
{
	fprintf(f, "%-10s ", "");
	if (r->spread_lo > 0 && r->spread_hi > 0 && r->spread_lo <= r->spread_hi)
		fprintf(f, "trials disagreed between %s and %s: the answer is somewhere there\n",
			text_rate(r->spread_lo).s, text_rate(r->spread_hi).s);
	else
		fputs("trials agreed\n", f);
}

void report_search(FILE *f, const struct config *c, const struct search *s)
{
	const char *unit = c->search == WANT_ALLOC_RATE ? "allocations a second" : "pps";
	const char *name = config_search_name(c->search);
	struct search_result r;

	search_result(s, &r);
	fprintf(f, "\n%-10s ", name != NULL ? name : "search");
	if (r.rate > 0)
		fprintf(f, "%s %s", text_rate(r.rate).s, unit);
	else
		fprintf(f, "below %s %s", text_rate(s->params.lo).s, unit);
	if (c->search == WANT_PDR)
		fprintf(f, " with at most %g %% of loss", c->search_loss * 100);
	fprintf(f, ": %s, %u trials\n", search_state_text(r.state), r.trials);
	if (r.rate > 0)
		fprintf(f, "%-10s delivered %s, loss %s %%\n", "", text_rate(r.delivered).s,
			text_percent(r.loss_median).s);
	if (r.failed_at > 0)
		fprintf(f, "%-10s %s failed\n", "", text_rate(r.failed_at).s);
	search_spread(f, &r);
	if (c->search == WANT_NDR)
		search_pdr(f, s);
	fflush(f);
}
