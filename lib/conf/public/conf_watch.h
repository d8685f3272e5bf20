// SPDX-License-Identifier: BSD-3-Clause
// Configuration of the watchdog and of crash reports.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct conf_watch {
	uint32_t alarm_ms; // without progress of a worker, until the log reports it; 0 = never
	uint32_t abort_ms; // until the process ends; 0 = never
	uint32_t management_ms; // without progress of management, until systemd is not notified
};

struct conf_crash {
	char *directory; // "" = standard error; NULL = the default directory, if it exists
	uint32_t keep; // number of reports kept
};

struct conf_debug {
	bool core_dumps; // allows core dumps, and tracing by processes of the same user
	bool faults; // the control socket accepts orders for test faults
};
