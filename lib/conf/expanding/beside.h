// SPDX-License-Identifier: BSD-3-Clause
// Programs of this machine, at addresses that it shares with us, as peers.
#pragma once

#include <stdbool.h>

struct conf;
struct conf_ctx;
struct conf_port;

// Adds the port of the loopback to conf.ports if peers.allow, or that of a realm, names an address
// of a packet port. After VLANs have become ports, before all other checks. 0 or -EINVAL.
int conf_beside_expand(struct conf_ctx *x);
// Whether programs of this machine can be reached at the addresses of a port, given that port.
bool conf_beside_may(const struct conf_port *p);
// Its index; -1 = there is none.
int conf_beside_loopback(const struct conf *c);
