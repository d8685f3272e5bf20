// SPDX-License-Identifier: BSD-3-Clause
// packet: a port on an interface that stays the kernel's. The kernel keeps the interface, its
// addresses and all that comes in, but the UDP that is ours (struct port_own): a program at the
// interface's ingress drops that for the kernel once our packet sockets have their copy.
//
// Opening the port makes the sockets, starting binds them and attaches the program. Whatever ends
// the process ends both, since they are descriptors.
#pragma once

#include "devices/packet_spec.h"
#include "port.h"

struct port_request;

// Opens a packet port; port_open calls it. NULL with the reason written. Management lcore.
struct port *port_packet_open(const struct port_request *r);
