// SPDX-License-Identifier: BSD-3-Clause
// Makes a host of the kernel's interface behind a port. Private to lib/port.
#pragma once

#include "port.h"

// port_ops.host for a port with an interface of the kernel behind it. The second time, for one that
// was made again, it needs no right to enter the namespace.
int port_kernel_host_start(struct port *p, const struct port_host *h, char *error, size_t len);
// port_ops.reroute of such a port, which port_kernel_host_start has made a host.
int port_kernel_host_reroute(struct port *p, const struct port_routes *before,
	const struct port_routes *after, char *error, size_t len);
// port_ops.watch of such a port whose driver cannot make the interface again: it tells that it was
// removed. It does nothing for other ports.
bool port_kernel_host_watch(struct port *p);
// port_ops.trouble of such a port; false for other ports.
bool port_kernel_host_trouble(struct port *p, char *buf, size_t len);
// Frees what port_kernel_host_start has left in a port, if anything. The port is being closed.
void port_kernel_host_close(struct port *p);
