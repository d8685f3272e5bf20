// SPDX-License-Identifier: BSD-3-Clause
// Routes of the kernel's interface behind a port. Private to lib/port.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "port.h"

struct rtnl;

// Adds routes, none of which the kernel may have. 0, or -1 with the reason told. Management lcore,
// as the next one.
int host_routes_add(struct rtnl *s, const struct port_route *routes, uint32_t nb);
// Makes after of before: first what is new or goes another way, then what is gone is deleted, so
// that a destination that is in both always has a route. 0, or -1 with the reason told, and then
// the kernel has before.
int host_routes_change(
	struct rtnl *s, const struct port_routes *before, const struct port_routes *after);
