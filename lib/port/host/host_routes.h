// SPDX-License-Identifier: BSD-3-Clause
// Routes of the kernel interface behind a port. Private to lib/port.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "port.h"

struct rtnl;

// Adds routes that the kernel must not have yet. Returns 0, or -1 with the reason reported.
// Management lcore, like the next function.
int host_routes_add(struct rtnl *s, const struct port_route *routes, uint32_t nb);
// Replaces the routes `before` by `after`: first adds new and changed routes, then deletes old
// ones, so that a destination in both always has a route. Returns 0, or -1 with the reason reported
// and the kernel's routes unchanged.
int host_routes_change(
	struct rtnl *s, const struct port_routes *before, const struct port_routes *after);
