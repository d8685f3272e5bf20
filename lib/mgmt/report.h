// SPDX-License-Identifier: BSD-3-Clause
// What the log says of a run. Management lcore. Private to lib/mgmt.
#pragma once

#include "conf.h"
#include "dp.h"

void mgmt_report_start(const struct dp *d, const struct conf *c, const char *memory);
// "1 address with 16384 ports each (49152-65535), 16383 allocations at most": what ports and limits
// allow. Returns buf.
const char *mgmt_report_relay(const struct turn_config *t, char *buf, size_t len);
void mgmt_report_stop(const struct dp *d, uint64_t uptime_s);
