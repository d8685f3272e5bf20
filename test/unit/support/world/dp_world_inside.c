// SPDX-License-Identifier: BSD-3-Clause
// The inside of a dp_world, for tests of other libraries.
#include "capture/capture.h"
#include "capture/capture_filter.h"
#include "datapath.h"
#include "dp_world.h"
#include "path/worker.h"
#include "see/event_rings.h"

#include <rte_mbuf.h>

void world_event(struct dp_world *w, unsigned int worker, const struct turn_event *e)
{
	events_put(w->dp->worker[worker], e);
}

void world_drain_events(struct dp_world *w)
{
	events_drain(w->dp);
}

int world_captured(const struct dp_world *w, unsigned int worker)
{
	const struct capture *c = w->dp->worker[worker]->capture;

	return c == NULL ? -1 : (int)c->filter->nb;
}

unsigned int world_take_buffers(struct dp_world *w, uint32_t left, struct rte_mbuf **taken)
{
	unsigned int n = 0;

	for (; dp_buffers_free(w->dp) > left; n++) {
		taken[n] = rte_pktmbuf_alloc(w->dp->pool);
		assert_non_null(taken[n]);
	}
	return n;
}
