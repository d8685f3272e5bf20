// SPDX-License-Identifier: BSD-3-Clause
// The commands of DPDK's telemetry socket. Private to lib/mgmt.
#pragma once

#include "conf.h"
#include "dp.h"

struct control_parts;

// Registers the commands; 0 or -errno. The objects of all arguments must stay valid until
// mgmt_telemetry_stop returns, which waits for running handlers.
int mgmt_telemetry_start(struct dp *d, const struct conf *c, const struct control_parts *parts);
void mgmt_telemetry_stop(void);
