// SPDX-License-Identifier: BSD-3-Clause
// Runs a search: makes a trial at each rate that search.c asks for.
#include "seek.h"

#include <stdlib.h>

#include "report/report_search.h"
#include "session.h"
#include "traffic.h"

// The latency quantile q, in microseconds, of the direction that is slowest.
static double latency_us(const struct session *s, double q)
{
	double worst = 0;

	for (unsigned int dir = 0; dir < DIRECTION_NB; dir++)
		if (s->result->direction[dir].used)
			worst = RTE_MAX(worst,
				(double)hist_quantile(s->result->direction[dir].latency, q) /
					s->result->hz * 1e6);
	return worst;
}

static void trial_read(const struct session *s, double rate, struct search_trial *t)
{
	const struct result *r = s->result;
	uint64_t sent = 0, delivered = 0;

	if (s->c->search == WANT_ALLOC_RATE) {
		sent = r->due;
		delivered = r->allocations;
	}
	for (unsigned int dir = 0; dir < DIRECTION_NB && s->c->search != WANT_ALLOC_RATE; dir++) {
		if (!r->direction[dir].used ||
			(dir == DIRECTION_UP && r->direction[DIRECTION_ECHO].used))
			continue;
		sent += r->direction[dir].sent;
		delivered += r->direction[dir].delivered;
	}
	*t = (struct search_trial){
		.rate = rate,
		.offered = (double)sent / r->seconds,
		.delivered = (double)delivered / r->seconds,
		.loss = sent > delivered ? (double)(sent - delivered) / (double)sent : 0,
		.generator_bound = result_generator_bound(r),
		.p50_us = latency_us(s, 0.5),
		.p99_us = latency_us(s, 0.99),
	};
}

int seek_run(struct session *s)
{
	const struct config *c = s->c;
	const struct search_params p = {
		.lo = c->search_lo,
		.hi = c->search_hi,
		.resolution = c->search_resolution,
		.loss = c->search_loss,
		.repeats = c->search_repeats,
	};
	struct search_trial t;
	double rate;

	s->search = calloc(1, sizeof(*s->search));
	if (s->search == NULL || search_init(s->search, &p) != 0)
		return session_fail("--from, --to, --resolution or --repeats make no search");
	traffic_warm_up(s, p.lo);
	session_drops_before(s);
	while (!run_stop && search_next(s->search, &rate)) {
		traffic_run(s, rate, c->duration_s, false);
		if (run_stop)
			break;
		trial_read(s, rate, &t);
		search_report(s->search, &t);
		report_search_trial(
			s->out, &s->search->trial[s->search->nb_trials - 1], s->search->nb_trials);
	}
	return 0;
}
