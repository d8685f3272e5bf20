// SPDX-License-Identifier: BSD-3-Clause
// Checks of ports.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct addr;
struct conf;
struct conf_ctx;
struct turn_config;

// Makes turn.local, turn.gateways and turn.routes from ports. It does not free their former values.
// False without memory. conf_free frees the lists.
bool conf_ports_list(struct conf *c);
// Gathers turn.local, turn.gateways and turn.routes, and replaces `all` and its like with
// addresses. Call it before all checks of addresses. 0 or -EINVAL.
int conf_ports_gather(struct conf_ctx *x);
// Checks ports, listeners and relay addresses. 0 or -EINVAL.
int conf_ports_check(struct conf_ctx *x);
// True if the address is a port's own. Call it after turn.local has been gathered.
bool conf_ports_own(const struct turn_config *t, const struct addr *a);
// True if a listener before listener i has its address and port, for another transport.
bool conf_ports_listener_again(const struct turn_config *t, uint32_t i);
