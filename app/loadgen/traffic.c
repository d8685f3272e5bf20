// SPDX-License-Identifier: BSD-3-Clause
// Orders traffic, shows its progress, and makes its result.
#include "traffic.h"

#include <rte_cycles.h>

#include "lanes/sender.h"
#include "links/links.h"
#include "report/report.h"

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
	for (unsigned int dir = 0; dir < DIRECTION_NB; dir++)
		hist_reset(&s->last->latency[dir]);
	send_order(s, rate);
	s->before->tsc = sender_mean_start(s->e);
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
	const uint64_t started = rte_rdtsc();
	double next = s->c->stats_period_s, t = 0;

	while (t < duration && !run_stop) {
		session_step();
		t = session_seconds(s, started);
		if (!tell || s->c->stats_period_s <= 0 || t < RTE_MIN(next, duration))
			continue;
		traffic_row(s, t);
		next += s->c->stats_period_s;
	}
}

// Waits until datagrams under way have arrived.
static void drain_traffic(struct session *s)
{
	const uint64_t started = rte_rdtsc();

	while (session_seconds(s, started) < s->c->drain_s && run_stop < 2)
		session_step();
}

void traffic_end(struct session *s)
{
	double sent_s;

	session_order(s->e, PHASE_WAIT);
	sent_s = (double)(s->e->since - s->before->tsc) / (double)s->e->hz;
	drain_traffic(s);
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
	drain_traffic(s);
}
