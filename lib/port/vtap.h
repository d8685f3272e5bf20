// SPDX-License-Identifier: BSD-3-Clause
// vtap: a virtual NIC on a Linux TAP with virtio-net headers. One end is the port, the other end a
// network interface of the kernel; see lib/base/devices/vtap_spec.h for its device strings. If the
// kernel supports it, frames pass between the ends with incomplete checksums and as whole
// super-frames (super.h).
//
// Opening the port makes the interface, starting brings it up, stopping brings it down, and closing
// removes it. If somebody else removes it, port_ops.watch makes it again. The user of the interface
// assigns its addresses.
#pragma once

#include "port.h"
#include "devices/vtap_spec.h"

struct port_request;

// Opens a vtap; called by port_open. NULL with the reason written. Management lcore.
struct port *port_vtap_open(const struct port_request *r);
