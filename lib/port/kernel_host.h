// SPDX-License-Identifier: BSD-3-Clause
// Makes a host of the kernel's interface behind a port. Private to lib/port.
#pragma once

#include "port.h"

// port_ops.host for a port with an interface of the kernel behind it.
int port_kernel_host_start(struct port *p, const struct port_host *h, char *error, size_t len);
