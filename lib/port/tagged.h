// SPDX-License-Identifier: BSD-3-Clause
// A VLAN of a device as a port: name, tag and MTU are its own, the queues are another port's.
#pragma once

#include <stddef.h>

struct port;
struct port_config;

// Opens the VLAN c->vlan on the device of port `on`. Of c it takes name, vlan, mtu, uso and tso.
// MAC, queues, RSS and offloads are those of `on`, and it sends by that port's queues. `on` alone
// receives what comes in on the device, whatever its tag. The link is that of `on`, which counts
// for both, is started before and closed after it. The port does not write tags: who sends does
// (struct net_l2). NULL with a reason in error (len bytes). Management lcore, before workers run.
struct port *port_tagged_open(
	struct port *on, const struct port_config *c, char *error, size_t len);
