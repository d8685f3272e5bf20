// SPDX-License-Identifier: BSD-3-Clause
// The commands of DPDK's telemetry socket. Private to lib/mgmt.
#pragma once

#include "conf.h"
#include "dp.h"

struct mgmt_drain;
struct mgmt_events;
struct mgmt_reload;

// Registers the commands; 0 or -errno. All arguments must stay valid until mgmt_telemetry_stop
// returns, which waits for running handlers.
int mgmt_telemetry_start(struct dp *d, const struct conf *c, struct mgmt_events *m,
	struct mgmt_drain *drain, struct mgmt_reload *reload);
void mgmt_telemetry_stop(void);
