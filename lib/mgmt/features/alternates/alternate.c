// SPDX-License-Identifier: BSD-3-Clause
// Decides when workers send clients to other servers. Workers count allocations themselves,
// exactly. This file measures the datagrams relayed per second.
#include "features/alternates/alternate.h"

#include <inttypes.h>
#include <pthread.h>

#include "conf.h"
#include "dp.h"
#include "dp_realms.h"
#include "log/log.h"
#include "turn_shard.h"

#define SECOND_MS 1000
#define LESS 8 // redirection ends when the rate has fallen by an eighth

// The rule that the workers have. any is false if they send no client to another server.
struct given {
	bool any;
	struct turn_alternates_rule rule;
};

static struct {
	struct dp *dp;
	const struct conf *conf;
	pthread_mutex_t lock; // guards told
	struct mgmt_alternates_state told;

	// Management lcore
	struct given given;
	bool anew; // the configuration has changed
	bool past; // the rate is above alternate.datagrams-per-second
	uint64_t measured_ms, relayed; // time of the last measurement, and its total
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

void mgmt_alternates_open(struct dp *d, const struct conf *c)
{
	state.dp = d;
	state.conf = c;
	state.given = (struct given){false};
	state.past = false;
	state.measured_ms = state.relayed = 0;
	pthread_mutex_lock(&state.lock);
	state.told = (struct mgmt_alternates_state){0};
	pthread_mutex_unlock(&state.lock);
	mgmt_alternates_reload();
}

void mgmt_alternates_reload(void)
{
	const struct turn_alternate_config *c = &state.conf->turn.alternate;

	state.anew = true;
	if (c->nb_servers == 0 || c->datagrams == 0)
		state.past = false;
	pthread_mutex_lock(&state.lock);
	state.told.servers = c->nb_servers;
	state.told.allocations_from = c->allocations;
	state.told.datagrams_from = c->datagrams;
	pthread_mutex_unlock(&state.lock);
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

// Measures the rate once a second, and only if a rule needs it.
static void measure_rate(uint64_t now_ms)
{
	const struct turn_alternate_config *c = &state.conf->turn.alternate;
	const uint64_t ms = now_ms - state.measured_ms, before = state.relayed;
	const bool first = state.measured_ms == 0;
	struct dp_stats s;
	struct turn_sums sums; // totals of all realms
	uint64_t rate = 0;
	bool past;

	if (c->nb_servers == 0 || c->datagrams == 0) {
		state.measured_ms = 0;
	} else {
		if (!first && ms < SECOND_MS)
			return;
		dp_total_stats(state.dp, &s);
		dp_realm_sums(state.dp, &s, -1, &sums);
		state.relayed = sums.datagrams[0] + sums.datagrams[1];
		state.measured_ms = now_ms;
		if (!first && state.relayed > before)
			rate = (state.relayed - before) * SECOND_MS / ms;
	}
	past = c->datagrams > 0 &&
		rate >= (state.past ? c->datagrams - c->datagrams / LESS : c->datagrams);
	if (past != state.past && !first)
		tell_past(past, rate, c->datagrams);
	state.past = past;
	pthread_mutex_lock(&state.lock);
	state.told.datagrams = rate;
	pthread_mutex_unlock(&state.lock);
}

// --- the workers' rule ---------------------------------------------------------------------------

static struct given choose_rule(bool drains)
{
	const struct turn_alternate_config *c = &state.conf->turn.alternate;

	if (drains)
		return (struct given){true, {.when = TURN_ALTERNATES_DRAIN}};
	if (c->nb_servers == 0)
		return (struct given){false};
	if (c->allocations == 0 && c->datagrams == 0)
		return (struct given){true, {.when = TURN_ALTERNATES_ALWAYS}};
	if (state.past)
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

static struct turn_alternates *make_alternates(const struct given *g)
{
	const struct turn_alternate_config *c = &state.conf->turn.alternate;

	if (g->rule.when == TURN_ALTERNATES_DRAIN && c->nb_drain > 0)
		return turn_alternates_create(&g->rule, c->drain, c->nb_drain);
	return turn_alternates_create(&g->rule, c->servers, c->nb_servers);
}

bool mgmt_alternates_choose(bool drains, uint64_t now_ms, struct turn_intake *next, bool *changed)
{
	struct given g;

	measure_rate(now_ms);
	g = choose_rule(drains);
	if (is_same(&g, &state.given) && !(state.anew && g.any)) {
		state.anew = false;
		return true;
	}
	if (g.any) {
		next->alternates = make_alternates(&g);
		if (next->alternates == NULL)
			return false;
	}
	*changed = true;
	state.given = g;
	state.anew = false;
	pthread_mutex_lock(&state.lock);
	state.told.sends = g.any && g.rule.when != TURN_ALTERNATES_DRAIN;
	state.told.reason = g.rule.when;
	pthread_mutex_unlock(&state.lock);
	return true;
}

// --- the state ----------------------------------------------------------------------------------

void mgmt_alternates_state(struct mgmt_alternates_state *out)
{
	struct dp_stats s;

	pthread_mutex_lock(&state.lock);
	*out = state.told;
	pthread_mutex_unlock(&state.lock);
	if (out->servers == 0) {
		*out = (struct mgmt_alternates_state){0};
		return;
	}
	dp_total_stats(state.dp, &s);
	if (out->reason == TURN_ALTERNATES_ALLOCATIONS)
		out->sends &= s.turn.allocations >= out->allocations_from;
	out->sent = s.turn.refused[TURN_REFUSED_ALTERNATE_ALWAYS] +
		s.turn.refused[TURN_REFUSED_ALTERNATE_DATAGRAMS] +
		s.turn.refused[TURN_REFUSED_ALTERNATE_ALLOCATIONS];
}
