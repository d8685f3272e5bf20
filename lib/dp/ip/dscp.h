// SPDX-License-Identifier: BSD-3-Clause
// Writes the DSCP that a listener has for its clients' traffic (listeners[].dscp) over the received
// one (RFC 8656 14: a classifier and marker). It changes only the received frame, before it is
// relayed: all later steps copy the class, and need not know of this.
#pragma once

#include <rte_branch_prediction.h>

#include "turn_config.h"
#include "path/worker.h"

// True if any listener over UDP or DTLS has a DSCP.
bool dscp_wanted(const struct turn_config *c);
// Marks the burst after turn_route_begin: datagrams of clients of such a listener, and those of
// peers to such clients. ECN does not change.
void dscp_mark(struct worker *w);

static inline void dscp_burst(struct worker *w)
{
	if (unlikely(w->marks))
		dscp_mark(w);
}
