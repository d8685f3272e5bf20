// SPDX-License-Identifier: BSD-3-Clause
// vtap: a virtual NIC on a Linux TAP with virtio-net headers. One end is the port, the other a
// network interface of the kernel (lib/base/vtap_spec.h says how a device string names it), and
// between them checksums may stay undone and super-frames whole (segment.h), as far as the kernel
// grants it.
//
// The interface is made when the port is opened, brought up when it is started, down when it is
// stopped, and gone when it is closed. Addresses are whoever's it is for.
#pragma once

#include "port.h"
#include "vtap_spec.h"

// What the kernel's end is to a port; -ENODEV when the port is no vtap.
int port_vtap_role(const struct port *p);
