// SPDX-License-Identifier: BSD-3-Clause
// What a crash report tells of the workers. Private to lib/mgmt.
#pragma once

#include <stddef.h>

struct dp;
struct dp_progress;
struct watched;

// Reports tell of the workers of d, whose threads are by_lcore. NULL: of none.
void watch_report_open(const struct dp *d, const struct watched *by_lcore);
// "port wan, 3 packets", "sleep": what a worker does. Returns buf.
const char *watch_report_stage(
	const struct dp *d, const struct dp_progress *p, char *buf, size_t len);
