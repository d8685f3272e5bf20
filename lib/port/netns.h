// SPDX-License-Identifier: BSD-3-Clause
// Runs a function in another network namespace. Private to lib/port.
#pragma once

#include <stdbool.h>

// Runs a function in a network namespace, on a temporary thread, so the caller never leaves its
// namespace. netns is a name; NULL or "" = the caller's namespace. Descriptors that run opens stay
// in that namespace. Returns 0, or -errno if the namespace does not exist or cannot be entered;
// *found is false in the first case. found may be NULL.
int port_netns_run(const char *netns, void (*run)(void *ctx), void *ctx, bool *found);
