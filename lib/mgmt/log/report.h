// SPDX-License-Identifier: BSD-3-Clause
// Reports about a run in the log. Management lcore only. Private to lib/mgmt.
#pragma once

#include "conf.h"
#include "dp.h"

// Logs the started configuration. memory says how EAL got its memory.
void mgmt_report_start(const struct dp *d, const struct conf *c, const char *memory);
// Writes the capacity that UDP ports and limits allow to buf (len bytes), such as "1 address with
// 16384 ports each (49152-65535), 16383 allocations at most". Returns buf.
const char *mgmt_report_relay(const struct turn_config *t, char *buf, size_t len);
// Logs the totals of the run.
void mgmt_report_stop(const struct dp *d, uint64_t uptime_s);
