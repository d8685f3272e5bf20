// SPDX-License-Identifier: BSD-3-Clause
// What the log says of a run. All on the management lcore. Private to lib/mgmt.
#pragma once

#include "conf.h"
#include "dp.h"

// Logs what was started. memory says how EAL got its memory.
void mgmt_report_start(const struct dp *d, const struct conf *c, const char *memory);
// Writes what ports and limits allow to buf (len bytes), as "1 address with 16384 ports each
// (49152-65535), 16383 allocations at most". Returns buf.
const char *mgmt_report_relay(const struct turn_config *t, char *buf, size_t len);
// Logs what the run has done.
void mgmt_report_stop(const struct dp *d, uint64_t uptime_s);
