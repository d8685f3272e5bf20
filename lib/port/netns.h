// SPDX-License-Identifier: BSD-3-Clause
// Does something in another network namespace. Private to lib/port.
#pragma once

#include <stdbool.h>

// Runs a function in a network namespace, on a thread of its own that ends with it, so the caller
// never leaves its namespace. netns is a name; NULL or "" = the caller's namespace. What run opens
// in the namespace stays there. Returns 0, or -errno when the namespace does not exist or cannot be
// entered; *found tells which of the two. found may be NULL.
int port_netns_run(const char *netns, void (*run)(void *ctx), void *ctx, bool *found);
