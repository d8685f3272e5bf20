// SPDX-License-Identifier: BSD-3-Clause
// vtap: a virtual NIC on a Linux TAP with virtio-net headers. One end is the port, the other end a
// network interface of the kernel; lib/base/vtap_spec.h says how a device string names it. As far
// as the kernel grants it, frames pass between the ends with unfinished checksums and as whole
// super-frames (super.h).
//
// Opening the port makes the interface, starting brings it up, stopping brings it down, and closing
// removes it. Where somebody else removes it, watching makes it again. The user of the interface
// gives it addresses.
#pragma once

#include "port.h"
#include "vtap_spec.h"

struct port_request;

// Opens a vtap; port_open calls it. NULL with the reason written. Management lcore.
struct port *port_vtap_open(const struct port_request *r);
