// SPDX-License-Identifier: BSD-3-Clause
// The control socket, by which slipringctl asks and orders; doc/slipringctl.md has its protocol.
// All of it runs on a thread of its own, on the CPUs of management (doc/decisions/0025-control.md).
// Private to lib/mgmt.
#pragma once

#include "conf.h"
#include "dp.h"

struct control;
struct mgmt_drain;
struct mgmt_events;
struct mgmt_reload;

// What it steers beside the data path.
struct control_parts {
	struct mgmt_events *events;
	struct mgmt_reload *reload;
	struct mgmt_drain *drain;
};

// Opens the socket and starts the thread. 0; *out is NULL where the configuration wants no socket,
// or the default one cannot be had, which is logged. -errno: the one that the configuration names
// cannot be had; the log says why. All must stay valid until mgmt_control_stop returns. Management
// lcore.
int mgmt_control_start(struct control **out, struct dp *d, const struct conf *c,
	const struct control_parts *parts);
// Closes all connections and removes the socket. NULL is fine.
void mgmt_control_stop(struct control *c);
