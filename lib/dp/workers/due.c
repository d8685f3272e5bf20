// SPDX-License-Identifier: BSD-3-Clause
// The next timer of a worker: each part of a worker reports when its tick has work next. A part
// that does not know reports the current time, which means a millisecond after the last tick.
#include "workers/due.h"

#include <rte_common.h>

#include "clients/sessions.h"
#include "datapath.h"
#include "ip/fragments.h"
#include "link/host.h"
#include "link/mld.h"
#include "link/nexthop.h"
#include "port.h"
#include "turn_shard.h"
#include "path/worker.h"

static uint64_t ports_next_ms(const struct worker *w)
{
	uint64_t next = w->now_ms + DUE_MS;

	for (unsigned int i = 0; i < w->dp->nb_ports; i++) {
		struct port *p = w->dp->port[i].port;

		if (p->ops->tick == NULL)
			continue;
		if (p->ops->is_due == NULL)
			next = RTE_MIN(next, w->now_ms + DUE_PORTS_MS);
		else if (p->ops->is_due(p, w->id))
			next = w->now_ms;
	}
	return next;
}

uint64_t due_next_ms(const struct worker *w)
{
	uint64_t next = ports_next_ms(w);

	if (w->nb_notes > 0) // a ring was full
		next = w->now_ms;
	next = RTE_MIN(next, turn_shard_next_ms(w->shard));
	next = RTE_MIN(next, nexthop_next_ms(w));
	next = RTE_MIN(next, mld_next_ms(w));
	next = RTE_MIN(next, fragments_next_ms(w));
	next = RTE_MIN(next, sessions_next_ms(w));
	if (w->id == 0)
		next = RTE_MIN(next, host_announce_next_ms(w));
	return RTE_MAX(next, w->ticked_ms + 1);
}
