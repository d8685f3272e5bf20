// SPDX-License-Identifier: BSD-3-Clause
// Checks that the rules in the NIC steer packets to the right queues. Pure: tests use a fake clock.
#include "steering/flow_watch.h"

// A second without packets is skipped. A share between the two limits resets both counts, so that a
// share that hovers around a limit does not toggle the verdict.
static void judge_share(struct flow_watch *w, uint64_t all, uint64_t elsewhere)
{
	w->bad = elsewhere * 1000 > all * STEER_BAD_PERMILLE ? w->bad + 1 : 0;
	w->good = elsewhere * 1000 <= all * STEER_GOOD_PERMILLE ? w->good + 1 : 0;
	if (w->bad >= STEER_JUDGE_S)
		__atomic_store_n(&w->degraded, true, __ATOMIC_RELAXED);
	else if (w->good >= STEER_JUDGE_S)
		__atomic_store_n(&w->degraded, false, __ATOMIC_RELAXED);
}

void flow_watch_look(struct flow_watch *w, uint64_t hits, uint64_t handed_over, uint64_t now_ms)
{
	if (w->looked_ms != 0 && now_ms - w->looked_ms < STEER_LOOK_MS)
		return;
	if (w->looked_ms != 0 && hits + handed_over > w->hits + w->handed_over)
		judge_share(w, hits + handed_over - w->hits - w->handed_over,
			handed_over - w->handed_over);
	w->hits = hits;
	w->handed_over = handed_over;
	w->looked_ms = now_ms;
}
