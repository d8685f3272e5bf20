// SPDX-License-Identifier: BSD-3-Clause
// A start that takes long: systemd is asked for more time, but not for ever. Private to lib/mgmt.
#pragma once

#include <stdint.h>

struct conf;

struct watch_starting {
	uint64_t told_ns; // last
	uint64_t until_ns; // after which it is told no more
};

void watch_start_begin(struct watch_starting *s, const struct conf *c, uint64_t now_ns);
// Asks for time, every few seconds. At each tick until the service is ready.
void watch_start_tell(struct watch_starting *s, uint64_t now_ns);
