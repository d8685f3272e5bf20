// SPDX-License-Identifier: BSD-3-Clause
// Asks systemd for more time during a long start, up to a limit. Private to lib/mgmt.
#pragma once

#include <stdint.h>

struct conf;

struct watch_starting {
	uint64_t told_ns; // last request
	uint64_t until_ns; // no more requests afterwards
};

void watch_start_begin(struct watch_starting *s, const struct conf *c, uint64_t now_ns);
// Asks for time, every few seconds. Call it at each tick until the service is ready.
void watch_start_tell(struct watch_starting *s, uint64_t now_ns);
