// SPDX-License-Identifier: BSD-3-Clause
// Checks of ports.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct addr;
struct conf;
struct conf_ctx;
struct turn_config;

// Makes turn.local, turn.gateways and turn.routes of ports. What they were is not freed. False
// without memory; conf_free frees them.
bool conf_ports_list(struct conf *c);
// Gathers turn.local, turn.gateways and turn.routes, and puts addresses in the place of the words
// that stand for all of them. Before all checks that look at addresses. 0 or -EINVAL.
int conf_ports_gather(struct conf_ctx *x);
// Checks ports, listeners and relay addresses. 0 or -EINVAL.
int conf_ports_check(struct conf_ctx *x);
// True when a port has this address as its own. turn.local has been gathered.
bool conf_ports_own(const struct turn_config *t, const struct addr *a);
// True when a listener before listener i has the same address and port, for another transport.
bool conf_ports_listener_again(const struct turn_config *t, uint32_t i);
