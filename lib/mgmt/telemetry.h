// SPDX-License-Identifier: BSD-3-Clause
// The commands of DPDK's telemetry socket. Private to lib/mgmt.
#pragma once

#include "conf.h"
#include "dp.h"

// Registers the commands. d and c stay valid until mgmt_telemetry_stop, which waits for handlers
// that are at work. 0 or -errno.
int mgmt_telemetry_start(struct dp *d, const struct conf *c);
void mgmt_telemetry_stop(void);
