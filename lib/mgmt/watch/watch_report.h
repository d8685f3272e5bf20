// SPDX-License-Identifier: BSD-3-Clause
// The workers in a crash report. Private to lib/mgmt.
#pragma once

#include <stddef.h>

struct dp;
struct dp_progress;
struct watched;

// Makes reports describe the workers of d, whose threads are by_lcore. NULL: no workers.
void watch_report_open(const struct dp *d, const struct watched *by_lcore);
// Writes a worker's stage, such as "port wan, 3 packets" or "sleep". Returns buf.
const char *watch_report_stage(
	const struct dp *d, const struct dp_progress *p, char *buf, size_t len);
