// SPDX-License-Identifier: BSD-3-Clause
// The time that datagrams spend in a worker. One in many is recognized by its mbuf where bursts are
// sent. This is reliable only while the mbuf is in a burst or an outbox.
#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "see/timing.h"
#include "ask/fault.h"
#include "see/stats.h"
#include "datapath.h"
#include "dp.h"
#include "dp_burst.h"
#include "path/worker.h"

#define FIRST_NS 250 // upper bound of the first class; each later one has twice the bound

uint64_t dp_time_bound(unsigned int class)
{
	return class < DP_TIME_CLASSES - 1 ? (uint64_t)FIRST_NS << class : UINT64_MAX;
}

unsigned int timing_class(uint64_t ns)
{
	const uint64_t units = (ns + FIRST_NS - 1) / FIRST_NS;
	const uint64_t most = UINT64_C(1) << (DP_TIME_CLASSES - 1);

	return stats_class((unsigned int)RTE_MIN(RTE_MAX(units, UINT64_C(1)), most));
}

void timing_begin(struct worker *w, unsigned int n)
{
	struct timing *t = &w->timing;
	const uint64_t now = rte_rdtsc();
	const int32_t pos = t->left + (int32_t)n;
	// low bits of the clock, mixed
	const uint16_t position = (uint16_t)(now * UINT64_C(0x9e3779b97f4a7c15) >> 55);

	_Static_assert(TIMING_EACH / 2 == 1 << (64 - 55), "position must be in the first half");
	if (unlikely(w->fault.armed))
		fault_commit(w);
	t->left = pos - (int32_t)n + TIMING_EACH - t->position + position;
	t->position = position;
	if (t->m != NULL)
		return; // happens only if one round receives TIMING_EACH datagrams
	t->m = w->burst.m[pos];
	t->since = t->taken != 0 ? t->taken : now;
}

bool timing_goes(const struct worker *w, const struct outbox *o)
{
	for (unsigned int i = 0; i < o->n; i++)
		if (o->m[i] == w->timing.m)
			return true;
	return false;
}

void timing_settle(struct worker *w)
{
	bool found = false;

	for (unsigned int i = 0; i < w->dp->nb_ports && !found; i++)
		found = timing_goes(w, &w->tx[i]);
	if (!found)
		w->timing.m = NULL;
}

void timing_sent(struct worker *w)
{
	struct timing *t = &w->timing;
	uint64_t ns;

	if (t->m == NULL)
		return;
	ns = (rte_rdtsc() - t->since) * UINT64_C(1000000) / w->dp->tsc_per_ms;
	w->live.time_hist[timing_class(ns)]++;
	w->live.time_ns += ns;
	t->m = NULL;
}

void timing_lost(struct worker *w, const struct rte_mbuf *m)
{
	for (; m != NULL; m = m->next)
		if (m == w->timing.m)
			w->timing.m = NULL;
}
