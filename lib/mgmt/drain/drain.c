// SPDX-License-Identifier: BSD-3-Clause
// Drains the server. Any thread orders a drain. The tick of the management lcore starts it in the
// workers, notifies the program of drain.on-change, and decides when the drain is over.
#include "drain/drain.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "clock.h"
#include "conf.h"
#include "dp.h"
#include "dp_intake.h"
#include "drain/hook.h"
#include "log/log.h"
#include "mgmt_features.h"
#include "reload/reload.h"
#include "state/stop.h"
#include "turn_shard.h"

#define SURE_MS 100 // how long the count must stay low: the workers' counters lag a little
#define TELL_MS 60000 // interval of progress lines

struct mgmt_drain {
	struct dp *dp;
	const struct conf *conf;
	struct mgmt_reload *reload;
	pthread_mutex_t lock; // guards the fields up to the empty line
	bool draining;
	uint64_t since_s, deadline_ms; // time of the order; a deadline of 0 means none
	uint32_t below;
	bool keep;
	uint64_t refused_before;
	uint32_t deadline_s, below_first; // defaults of the configuration

	// Management lcore
	bool given; // the workers have been told that the server drains
	bool told; // the state that the program was notified of last
	uint64_t reloads; // number of ended reloads whose settings are adopted
	uint64_t few_ms; // since when the count has been low enough; 0 = it is not
	uint64_t tell_ms; // when the next progress line is due
};

static uint64_t count_refused(const struct dp_stats *s)
{
	return s->turn.refused[TURN_REFUSED_ALTERNATE] + s->turn.refused[TURN_REFUSED_DRAINING];
}

static void take_defaults(struct mgmt_drain *m)
{
	pthread_mutex_lock(&m->lock);
	m->deadline_s = m->conf->drain.deadline_s;
	m->below_first = m->conf->drain.below;
	pthread_mutex_unlock(&m->lock);
}

struct mgmt_drain *mgmt_drain_open(struct dp *d, const struct conf *c, struct mgmt_reload *r)
{
	struct mgmt_drain *m = calloc(1, sizeof(*m));

	if (m == NULL || pthread_mutex_init(&m->lock, NULL) != 0) {
		free(m);
		return NULL;
	}
	m->dp = d;
	m->conf = c;
	m->reload = r;
#define X(open, reload, choose) open(d, c);
	MGMT_CHOOSE_INTAKE(X)
#undef X
	take_defaults(m);
	mgmt_hook_tell(false);
	return m;
}

void mgmt_drain_close(struct mgmt_drain *m)
{
	if (m == NULL)
		return;
	pthread_mutex_destroy(&m->lock);
	free(m);
}

// --- orders --------------------------------------------------------------------------------------

static void tell_order(const char *requester, uint32_t below, uint64_t deadline_ms, uint64_t now_ms)
{
	if (deadline_ms > 0)
		LOG(CONFIG, NOTICE,
			"drain by %s: the end is at %" PRIu32 " allocations, or after %" PRIu64
			" s",
			requester, below, (deadline_ms - now_ms + 999) / 1000);
	else
		LOG(CONFIG, NOTICE, "drain by %s: the end is at %" PRIu32 " allocations", requester,
			below);
}

void mgmt_drain_ask(
	struct mgmt_drain *m, const char *requester, const struct mgmt_drain_order *order)
{
	const uint64_t now_ms = clock_monotonic_ms();
	uint64_t deadline_ms;
	struct dp_stats s;
	uint32_t below;

	dp_total_stats(m->dp, &s);
	pthread_mutex_lock(&m->lock);
	if (!m->draining || order->has_deadline) {
		const uint32_t seconds = order->has_deadline ? order->deadline_s : m->deadline_s;

		m->deadline_ms = seconds > 0 ? now_ms + seconds * UINT64_C(1000) : 0;
	}
	if (!m->draining || order->has_below)
		m->below = order->has_below ? order->below : m->below_first;
	if (!m->draining || order->has_keep)
		m->keep = order->has_keep && order->keep;
	if (!m->draining) {
		m->since_s = (uint64_t)time(NULL);
		m->refused_before = count_refused(&s);
	}
	m->draining = true;
	below = m->below;
	deadline_ms = m->deadline_ms;
	pthread_mutex_unlock(&m->lock);
	tell_order(requester, below, deadline_ms, now_ms);
}

void mgmt_drain_undo(struct mgmt_drain *m, const char *requester)
{
	bool was;

	pthread_mutex_lock(&m->lock);
	was = m->draining;
	m->draining = false;
	pthread_mutex_unlock(&m->lock);
	if (was)
		LOG(CONFIG, NOTICE, "undrain by %s: new allocations are made again", requester);
}

void mgmt_drain_state(struct mgmt_drain *m, struct mgmt_drain_state *out)
{
	const uint64_t now_ms = clock_monotonic_ms();
	struct dp_stats s;

	dp_total_stats(m->dp, &s);
	pthread_mutex_lock(&m->lock);
	*out = (struct mgmt_drain_state){
		.draining = m->draining, .allocations = s.turn.allocations};
	if (m->draining) {
		out->since_s = m->since_s;
		out->below = m->below;
		out->keep = m->keep;
		out->has_deadline = m->deadline_ms > 0;
		if (m->deadline_ms > now_ms)
			out->left_s = (m->deadline_ms - now_ms + 999) / 1000;
		out->refused = count_refused(&s) - m->refused_before;
	}
	pthread_mutex_unlock(&m->lock);
}

// --- the management lcore ------------------------------------------------------------------------

// Adopts the changes of a reload.
static void follow_file(struct mgmt_drain *m)
{
	struct mgmt_reload_state r;

	mgmt_reload_state(m->reload, &r);
	if (r.ended == m->reloads)
		return;
	m->reloads = r.ended;
	take_defaults(m);
#define X(open, reload, choose_or_close) reload();
	MGMT_CHOOSE_INTAKE(X)
	MGMT_THREADS(X)
#undef X
}

// Tells the workers which new allocations to refuse, if that has changed. False without memory: the
// next call tries again.
static bool give_intake(struct mgmt_drain *m, bool draining, uint64_t now_ms)
{
	struct turn_intake next = {.drains = draining};
	bool changed = draining != m->given;

#define X(open, reload, choose)                         \
	if (!choose(draining, now_ms, &next, &changed)) \
		return false;
	MGMT_CHOOSE_INTAKE(X)
#undef X
	m->given = draining;
	if (changed)
		dp_intake_set(m->dp, &next);
	return true;
}

static void tell_progress(struct mgmt_drain *m, uint64_t now_ms)
{
	struct mgmt_drain_state s;

	if (now_ms < m->tell_ms)
		return;
	m->tell_ms = now_ms + TELL_MS;
	mgmt_drain_state(m, &s);
	LOG(CONFIG, INFO, "draining: allocations left: %" PRIu64 ", new ones refused: %" PRIu64,
		s.allocations, s.refused);
}

// True if the drain is over. The workers refuse new allocations.
static bool is_over(struct mgmt_drain *m, uint32_t below, uint64_t deadline_ms, uint64_t now_ms)
{
	struct dp_stats s;

	dp_total_stats(m->dp, &s);
	if (deadline_ms > 0 && now_ms >= deadline_ms) {
		LOG(CONFIG, NOTICE, "drained: the deadline has passed, allocations left: %" PRIu64,
			s.turn.allocations);
		return true;
	}
	if (s.turn.allocations > below)
		m->few_ms = 0;
	else if (m->few_ms == 0)
		m->few_ms = now_ms;
	// The end of this process could end the program, too, so wait until it has run.
	if (m->few_ms == 0 || now_ms - m->few_ms < SURE_MS || mgmt_hook_busy())
		return false;
	LOG(CONFIG, NOTICE, "drained: allocations left: %" PRIu64, s.turn.allocations);
	return true;
}

enum mgmt_drain_step mgmt_drain_tick(struct mgmt_drain *m, uint64_t now_ms)
{
	uint64_t deadline_ms;
	uint32_t below;
	bool draining, keep;

	mgmt_hook_tick();
	pthread_mutex_lock(&m->lock);
	draining = m->draining;
	deadline_ms = m->deadline_ms;
	below = m->below;
	keep = m->keep;
	pthread_mutex_unlock(&m->lock);
	if (draining != m->told) {
		m->told = draining;
		m->few_ms = 0;
		m->tell_ms = now_ms;
		mgmt_hook_tell(draining);
	}
	if (!dp_intake_step(m->dp))
		return MGMT_DRAIN_SOON;
	follow_file(m);
	if (!give_intake(m, draining, now_ms))
		return MGMT_DRAIN_WAITS;
	if (!dp_intake_step(m->dp))
		return MGMT_DRAIN_SOON;
	if (!draining)
		return MGMT_DRAIN_WAITS;
	tell_progress(m, now_ms);
	if (!is_over(m, below, deadline_ms, now_ms))
		return MGMT_DRAIN_WAITS;
	stop_drained(keep);
	return MGMT_DRAIN_ENDED;
}
