// SPDX-License-Identifier: BSD-3-Clause
// What the configuration says of the watchdog and of reports of crashes.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct conf_watch {
	uint32_t alarm_ms; // without progress of a worker, until the log tells; 0 = never
	uint32_t abort_ms; // until the process ends; 0 = never
	uint32_t management_ms; // without progress of management, until systemd is told no more
};

struct conf_crash {
	char *directory; // "" = standard error; NULL = the usual one, if it is there
	uint32_t keep; // reports
};

struct conf_debug {
	bool core_dumps; // allows core dumps, and tracing by processes of the same user
	bool faults; // the control socket takes orders for faults
};
