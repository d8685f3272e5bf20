// SPDX-License-Identifier: BSD-3-Clause
// Gives orders to the lanes, waits for them, and shows how a run goes.
#include "session.h"

#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include <rte_cycles.h>

#include "lanes/lane.h"
#include "lanes/sender.h"
#include "links/links.h"
#include "report/report.h"
#include "report/telemetry.h"

#define STEP_MS 10
#define FOLLOW_NS (20 * 1000) // pause between looks at whether the lanes follow an order

int session_fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("slipring-loadgen: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	return 1;
}

double session_seconds(const struct session *s, uint64_t from)
{
	return (double)(rte_rdtsc() - from) / (double)s->e->hz;
}

void session_step(void)
{
	const struct timespec ts = {.tv_nsec = STEP_MS * 1000000L};

	nanosleep(&ts, NULL);
}

void session_order(struct engine *e, enum phase phase)
{
	const struct timespec ts = {.tv_nsec = FOLLOW_NS};

	e->since = rte_rdtsc();
	__atomic_store_n(&e->phase, phase, __ATOMIC_RELEASE);
	while (!lane_all_follow(e))
		nanosleep(&ts, NULL);
}

// --- traffic -------------------------------------------------------------------------------------

static void send_order(struct session *s, double rate)
{
	struct engine *e = s->e;

	__atomic_store(&e->rate, &rate, __ATOMIC_RELAXED);
	__atomic_store_n(&e->trial, e->trial + 1, __ATOMIC_RELEASE);
	session_order(e, PHASE_TRAFFIC);
}

void traffic_begin(struct session *s, double rate)
{
	snapshot_take(s->e, s->before);
	*s->last = *s->before;
	for (unsigned int way = 0; way < DIRECTION_NB; way++)
		hist_reset(&s->last->latency[way]);
	send_order(s, rate);
	s->before->tsc = sender_all_began(s->e);
}

void traffic_rate(struct session *s, double rate)
{
	__atomic_store(&s->e->rate, &rate, __ATOMIC_RELAXED);
}

void traffic_row(struct session *s, double t)
{
	struct snapshot *swap = s->last;

	snapshot_take(s->e, s->now);
	snapshot_result(s->e, s->last, s->now, false, s->row);
	report_period(s->out, s->c, s->row, t);
	s->last = s->now;
	s->now = swap;
}

static void send_for(struct session *s, double duration, bool tell)
{
	const uint64_t from = rte_rdtsc();
	double next = s->c->stats_period_s, t = 0;

	while (t < duration && !run_stop) {
		session_step();
		t = session_seconds(s, from);
		if (!tell || s->c->stats_period_s <= 0 || t < RTE_MIN(next, duration))
			continue;
		traffic_row(s, t);
		next += s->c->stats_period_s;
	}
}

// Waits until datagrams under way have arrived.
static void drain(struct session *s)
{
	const uint64_t from = rte_rdtsc();

	while (session_seconds(s, from) < s->c->drain_s && run_stop < 2)
		session_step();
}

void traffic_end(struct session *s)
{
	double sent_s;

	session_order(s->e, PHASE_WAIT);
	sent_s = (double)(s->e->since - s->before->tsc) / (double)s->e->hz;
	drain(s);
	snapshot_take(s->e, s->now);
	snapshot_result(s->e, s->before, s->now, true, s->result);
	s->result->seconds = sent_s;
	s->result->setup_s = s->setup_s;
	snprintf(s->result->cipher, sizeof(s->result->cipher), "%s", links_cipher(s->e));
}

void traffic_run(struct session *s, double rate, double duration, bool tell)
{
	traffic_begin(s, rate);
	send_for(s, duration, tell);
	traffic_end(s);
}

void traffic_warm_up(struct session *s, double rate)
{
	if (s->c->warmup_s <= 0 || run_stop)
		return;
	send_order(s, rate);
	send_for(s, s->c->warmup_s, false);
	session_order(s->e, PHASE_WAIT);
	drain(s);
}

// --- what the server dropped meanwhile ----------------------------------------------------------

void session_drops_before(struct session *s)
{
	char error[256];

	if (s->c->telemetry == NULL)
		return;
	s->has_drops =
		telemetry_drops(s->c->telemetry, &s->drops_before, error, sizeof(error)) == 0;
	if (!s->has_drops)
		session_fail("%s: the server's drop counters will be missing", error);
}

void session_drops_after(struct session *s)
{
	char error[256];

	if (!s->has_drops)
		return;
	s->has_drops = telemetry_drops(s->c->telemetry, &s->drops, error, sizeof(error)) == 0;
	if (!s->has_drops)
		session_fail("%s: the server's drop counters are missing", error);
	else
		telemetry_drops_delta(&s->drops, &s->drops_before);
}

// --- made and unmade -----------------------------------------------------------------------------

int session_init(struct session *s, struct engine *e)
{
	const bool json_out = e->config->json != NULL && strcmp(e->config->json, "-") == 0;

	*s = (struct session){.e = e, .c = e->config, .out = json_out ? stderr : stdout};
	s->before = calloc(1, sizeof(*s->before));
	s->last = calloc(1, sizeof(*s->last));
	s->now = calloc(1, sizeof(*s->now));
	s->result = result_create();
	s->row = result_create();
	if (s->before == NULL || s->last == NULL || s->now == NULL || s->result == NULL ||
		s->row == NULL)
		return session_fail("out of memory");
	return 0;
}

void session_fini(struct session *s)
{
	free(s->before);
	free(s->last);
	free(s->now);
	free(s->search);
	result_free(s->result);
	result_free(s->row);
}
