// SPDX-License-Identifier: BSD-3-Clause
// The control socket, through which slipringctl sends its commands; doc/slipringctl.md describes
// the protocol. It runs on a thread of its own, on the CPUs of management
// (doc/decisions/0025-control.md). Private to lib/mgmt.
#pragma once

#include "conf.h"
#include "dp.h"

struct control;
struct mgmt_blocks;
struct mgmt_drain;
struct mgmt_events;
struct mgmt_reload;

// The parts that commands act on, apart from the data path.
struct control_parts {
	struct mgmt_events *events;
	struct mgmt_reload *reload;
	struct mgmt_drain *drain;
	struct mgmt_blocks *blocks;
};

// Opens the socket and starts the thread. Returns 0 or -errno. 0 with *out NULL: the configuration
// wants no socket, or the default socket cannot be opened, which is logged. -errno: the configured
// socket cannot be opened; the log has the reason. All arguments must stay valid until
// mgmt_control_stop returns. Management lcore.
int mgmt_control_start(struct control **out, struct dp *d, const struct conf *c,
	const struct control_parts *parts);
// Closes all connections and removes the socket. NULL is fine.
void mgmt_control_stop(struct control *c);
