// SPDX-License-Identifier: BSD-3-Clause
// Makes DPDK's log a part of slipring's log. Private to lib/mgmt.
#pragma once

#include "conf.h"

// From now on DPDK's log lines have the area dpdk; those of lib/port, which logs through DPDK, have
// the area ports. Without memory the log remains where it was.
void log_dpdk_open(void);
void log_dpdk_close(void);
// Lets DPDK log more when an area that it fills has reached level debug, and less when it has left
// it. For other areas it does nothing.
void log_dpdk_debug(enum conf_area area, bool debug);
