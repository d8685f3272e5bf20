// SPDX-License-Identifier: BSD-3-Clause
// The server's drop counters, asked of its DPDK telemetry socket. Only slipring has them. Blocks
// for two seconds at most: main lcore, never while a schedule depends on it.
#pragma once

#include <stddef.h>

#include "measure/result.h"

// Counters since the server's start, by name; prefix: its EAL file prefix. 0, or -1 with the reason
// in error.
int telemetry_drops(const char *prefix, struct server_drops *out, char *error, size_t len);

// Takes the older counters off *now; what has not grown is left out. A counter that went back (the
// server was restarted) counts from zero.
void server_drops_delta(struct server_drops *now, const struct server_drops *before);
