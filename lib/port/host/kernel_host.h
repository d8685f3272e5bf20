// SPDX-License-Identifier: BSD-3-Clause
// Configures the kernel interface behind a port as a host. Private to lib/port.
#pragma once

#include "port.h"

// port_ops.host for a port with a kernel interface behind it. Later calls, for an interface that
// was made again, need no privilege to enter the namespace.
int port_kernel_host_start(struct port *p, const struct port_host *h, char *error, size_t len);
// port_ops.reroute of such a port, after port_kernel_host_start.
int port_kernel_host_reroute(struct port *p, const struct port_routes *before,
	const struct port_routes *after, char *error, size_t len);
// port_ops.watch of such a port whose driver cannot make the interface again: logs that it was
// removed. Does nothing for other ports.
bool port_kernel_host_watch(struct port *p);
// port_ops.trouble of such a port; false for other ports.
bool port_kernel_host_trouble(struct port *p, char *buf, size_t len);
// Frees the state of port_kernel_host_start, if any, when the port is closed.
void port_kernel_host_close(struct port *p);
