// SPDX-License-Identifier: BSD-3-Clause
// DPDK's own log, which becomes part of ours. Private to lib/mgmt.
#pragma once

#include "conf.h"

// What DPDK logs from now on becomes lines of the area dpdk; what lib/port says by it, of ports.
// Without memory it stays where it was.
void log_dpdk_open(void);
void log_dpdk_close(void);
// Makes DPDK tell more when an area that it fills has come to level debug, and less when it has
// left it. For other areas it does nothing.
void log_dpdk_debug(enum conf_area area, bool debug);
