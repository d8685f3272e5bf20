// SPDX-License-Identifier: BSD-3-Clause
// The server's drop counters, read from its DPDK telemetry socket. Only slipring has them. Blocks
// for up to two seconds: call it on the main lcore, and never while a schedule depends on it.
#pragma once

#include <stddef.h>

#include "measure/result.h"

// Reads the counters since the server's start, by name. prefix: the server's EAL file prefix.
// Returns 0, or -1 with the reason in error.
int telemetry_drops(const char *prefix, struct server_drops *out, char *error, size_t len);

// Subtracts the older counters from *now and leaves out those that have not grown. A counter that
// is lower than before (the server was restarted) counts from zero.
void telemetry_drops_delta(struct server_drops *now, const struct server_drops *before);
