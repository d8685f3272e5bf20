// SPDX-License-Identifier: BSD-3-Clause
// dscp.c: the DSCP that a listener has for its clients' traffic (listeners[].dscp), in place of the
// one that came (RFC 8656 14: a classifier and marker). All that it changes is the frame that was
// received, before it is relayed: the ways behind that copy the class, and know nothing of this.
#pragma once

#include <rte_branch_prediction.h>

#include "turn_config.h"
#include "worker.h"

// Whether any listener over UDP or DTLS has one.
bool dscp_wanted(const struct turn_config *c);
// Puts it into what is in the burst, looked up by turn_route_begin: the datagrams of clients of
// such a listener, and those of peers to such clients. ECN stays as it came.
void dscp_mark(struct worker *w);

static inline void dscp_burst(struct worker *w)
{
	if (unlikely(w->marks))
		dscp_mark(w);
}
