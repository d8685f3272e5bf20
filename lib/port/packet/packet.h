// SPDX-License-Identifier: BSD-3-Clause
// packet: a port on an interface shared with the kernel. The kernel keeps the interface, its
// addresses and all received frames except our UDP (struct port_own): a program at the interface's
// ingress drops that for the kernel after our packet sockets got their copy.
//
// Opening the port makes the sockets, starting binds them and attaches the program. Both are
// descriptors, so they disappear with the process.
#pragma once

#include "devices/packet_spec.h"
#include "port.h"

struct port_request;

// Opens a packet port; called by port_open. NULL with the reason written. Management lcore.
struct port *port_packet_open(const struct port_request *r);
