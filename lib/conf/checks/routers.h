// SPDX-License-Identifier: BSD-3-Clause
// Checks of routers: gateways, and those that routes name.
#pragma once

struct conf_ctx;
struct conf_port;

// Checks by the port's own keys that routers are on its subnets, with one gateway per family and no
// route twice. 0 or -EINVAL.
int conf_routers_check_port(struct conf_ctx *x, const struct conf_port *p);
// Checks that the routers of a port are other hosts. Call it after turn.local has been gathered. 0
// or -EINVAL.
int conf_routers_check_hosts(struct conf_ctx *x, const struct conf_port *p);
