// SPDX-License-Identifier: BSD-3-Clause
// A VLAN of a device as a port, with its own name, tag and MTU, and the queues of another port.
#pragma once

#include <stddef.h>

struct port;
struct port_config;

// Opens the VLAN c->vlan on the device of port `on`. It uses name, vlan, mtu, uso and tso of c.
// MAC, queues, RSS, offloads and link are those of `on`, and it sends through that port's queues.
// Only `on` receives frames of the device, with any tag. `on` has the counters of both, and must be
// started before and closed after this port. The port does not write tags: the sender does (struct
// net_l2). Returns NULL with a reason in error (len bytes) on failure. Management lcore, before
// workers run.
struct port *port_tagged_open(
	struct port *on, const struct port_config *c, char *error, size_t len);
