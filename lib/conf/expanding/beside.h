// SPDX-License-Identifier: BSD-3-Clause
// Programs of this machine, at addresses that it shares with slipring, as peers.
#pragma once

#include <stdbool.h>

struct conf;
struct conf_ctx;
struct conf_port;

// Adds the loopback port to conf.ports if peers.allow, or peers.allow of a realm, has an address of
// a packet port. Call it after VLANs have become ports, before all other checks. 0 or -EINVAL.
int conf_beside_expand(struct conf_ctx *x);
// True if programs of this machine can be reached at the port's addresses, given the loopback port.
bool conf_beside_may(const struct conf_port *p);
// Index of the loopback port, or -1 without one.
int conf_beside_loopback(const struct conf *c);
