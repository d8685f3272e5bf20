// SPDX-License-Identifier: BSD-3-Clause
// Decides when workers send clients to other servers. Workers count allocations themselves,
// exactly. This measures the datagrams relayed per second.
#include "features/alternates/alternate.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "conf.h"
#include "dp.h"
#include "dp_realms.h"
#include "dp_intake.h"
#include "log/log.h"

#define SECOND_MS 1000
#define LESS 8 // redirection ends when the rate has fallen by an eighth

// The rule that the workers have. Without servers they make all allocations themselves.
struct given {
	bool any;
	struct turn_alternates_rule rule;
};

struct mgmt_alternates {
	struct dp *dp;
	const struct conf *conf;
	pthread_mutex_t lock; // guards told
	struct mgmt_alternates_state told;

	// Management lcore
	struct given given;
	bool anew; // the configuration has changed
	bool past; // the rate is above alternate.datagrams-per-second
	uint64_t measured_ms, relayed; // time of the last measurement, and the total then
};

struct mgmt_alternates *mgmt_alternates_open(struct dp *d, const struct conf *c)
{
	struct mgmt_alternates *a = calloc(1, sizeof(*a));

	if (a == NULL || pthread_mutex_init(&a->lock, NULL) != 0) {
		free(a);
		return NULL;
	}
	a->dp = d;
	a->conf = c;
	mgmt_alternates_reload(a);
	return a;
}

void mgmt_alternates_close(struct mgmt_alternates *a)
{
	if (a == NULL)
		return;
	pthread_mutex_destroy(&a->lock);
	free(a);
}

void mgmt_alternates_reload(struct mgmt_alternates *a)
{
	const struct conf_alternate *c = &a->conf->alternate;

	a->anew = true;
	if (c->nb_servers == 0 || c->datagrams == 0)
		a->past = false;
	pthread_mutex_lock(&a->lock);
	a->told.servers = c->nb_servers;
	a->told.allocations_from = c->allocations;
	a->told.datagrams_from = c->datagrams;
	pthread_mutex_unlock(&a->lock);
}

// --- relayed datagrams per second ----------------------------------------------------------------

static void tell_past(bool past, uint64_t rate, uint32_t threshold)
{
	if (past)
		LOG(CONFIG, NOTICE,
			"alternate: relays %" PRIu64 " datagrams a second, of %" PRIu32
			": new clients are sent to other servers",
			rate, threshold);
	else
		LOG(CONFIG, NOTICE,
			"alternate: relays %" PRIu64 " datagrams a second, of %" PRIu32
			": new clients are served here again",
			rate, threshold);
}

// Measures once a second, and only if a rule needs it.
static void measure_rate(struct mgmt_alternates *a, uint64_t now_ms)
{
	const struct conf_alternate *c = &a->conf->alternate;
	const uint64_t ms = now_ms - a->measured_ms, before = a->relayed;
	const bool first = a->measured_ms == 0;
	struct dp_stats s;
	struct turn_sums sums; // totals of all realms
	uint64_t rate = 0;
	bool past;

	if (c->nb_servers == 0 || c->datagrams == 0) {
		a->measured_ms = 0;
	} else {
		if (!first && ms < SECOND_MS)
			return;
		dp_total_stats(a->dp, &s);
		dp_realm_sums(a->dp, &s, -1, &sums);
		a->relayed = sums.datagrams[0] + sums.datagrams[1];
		a->measured_ms = now_ms;
		if (!first && a->relayed > before)
			rate = (a->relayed - before) * SECOND_MS / ms;
	}
	past = c->datagrams > 0 &&
		rate >= (a->past ? c->datagrams - c->datagrams / LESS : c->datagrams);
	if (past != a->past && !first)
		tell_past(past, rate, c->datagrams);
	a->past = past;
	pthread_mutex_lock(&a->lock);
	a->told.datagrams = rate;
	pthread_mutex_unlock(&a->lock);
}

// --- the workers' rule ---------------------------------------------------------------------------

static struct given choose_rule(const struct mgmt_alternates *a, bool draining)
{
	const struct conf_alternate *c = &a->conf->alternate;

	if (draining)
		return (struct given){true, {.when = TURN_ALTERNATES_DRAIN}};
	if (c->nb_servers == 0)
		return (struct given){false};
	if (c->allocations == 0 && c->datagrams == 0)
		return (struct given){true, {.when = TURN_ALTERNATES_ALWAYS}};
	if (a->past)
		return (struct given){true, {.when = TURN_ALTERNATES_DATAGRAMS}};
	if (c->allocations == 0)
		return (struct given){false};
	return (struct given){true, {TURN_ALTERNATES_ALLOCATIONS, c->allocations}};
}

static bool is_same(const struct given *a, const struct given *b)
{
	return a->any == b->any && a->rule.when == b->rule.when &&
		a->rule.min_allocations == b->rule.min_allocations;
}

static struct turn_alternates *make_alternates(
	const struct mgmt_alternates *a, const struct given *g)
{
	const struct conf_alternate *c = &a->conf->alternate;
	const struct conf_drain *d = &a->conf->drain;

	if (g->rule.when == TURN_ALTERNATES_DRAIN && d->nb_alternates > 0)
		return turn_alternates_create(&g->rule, d->alternates, d->nb_alternates);
	return turn_alternates_create(&g->rule, c->servers, c->nb_servers);
}

bool mgmt_alternates_give(struct mgmt_alternates *a, bool draining, uint64_t now_ms)
{
	struct turn_alternates *next = NULL;
	struct given g;

	measure_rate(a, now_ms);
	g = choose_rule(a, draining);
	if (is_same(&g, &a->given) && !(a->anew && g.any)) {
		a->anew = false;
		return true;
	}
	if (g.any) {
		next = make_alternates(a, &g);
		if (next == NULL)
			return false;
	}
	if (dp_alternates_set(a->dp, next) != 0) { // cannot happen: the workers have adopted the
		// last rule
		turn_alternates_free(next);
		return false;
	}
	a->given = g;
	a->anew = false;
	pthread_mutex_lock(&a->lock);
	a->told.sends = g.any && g.rule.when != TURN_ALTERNATES_DRAIN;
	a->told.reason = g.rule.when;
	pthread_mutex_unlock(&a->lock);
	return true;
}

// --- the state ----------------------------------------------------------------------------------

void mgmt_alternates_state(struct mgmt_alternates *a, struct mgmt_alternates_state *out)
{
	struct dp_stats s;

	pthread_mutex_lock(&a->lock);
	*out = a->told;
	pthread_mutex_unlock(&a->lock);
	if (out->servers == 0) {
		*out = (struct mgmt_alternates_state){0};
		return;
	}
	dp_total_stats(a->dp, &s);
	if (out->reason == TURN_ALTERNATES_ALLOCATIONS)
		out->sends &= s.turn.allocations >= out->allocations_from;
	out->sent = s.turn.refused[TURN_REFUSED_ALTERNATE_ALWAYS] +
		s.turn.refused[TURN_REFUSED_ALTERNATE_DATAGRAMS] +
		s.turn.refused[TURN_REFUSED_ALTERNATE_ALLOCATIONS];
}
